#include "data/files/matching_files.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>

#include "base/error.h"

namespace mirrortrain::data {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& path, const std::error_code& error) {
  throw Error(
      fmt::format("{}: cannot be read, so that its files would be left out: {}; name the other folders, or allow "
                  "to read it",
                  path.string(), error.message()));
}

bool is_absent(const std::error_code& error) {
  return error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory;
}

/// The names in a folder; none of what is no folder. "" is the current one.
std::vector<std::string> names_in(const fs::path& folder) {
  const fs::path read = folder.empty() ? "." : folder;
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(read, error), end; !error && at != end; at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  if (error && !is_absent(error)) fail(read, error);
  return names;
}

void match(const fs::path& folder, std::span<const std::string> components, std::vector<std::string>& found);

/// The rest of a glob in a folder and in all below it.
void match_below(const fs::path& folder, std::span<const std::string> rest, std::vector<std::string>& found) {
  match(folder, rest, found);
  for (const std::string& name : names_in(folder)) {
    std::error_code error;
    const fs::path path = folder / name;
    const fs::file_status status = fs::symlink_status(path, error);
    if (!name.starts_with('.') && status.type() == fs::file_type::directory) match_below(path, rest, found);
  }
}

/// Adds what the components of a glob match in a folder.
void match(const fs::path& folder, std::span<const std::string> components, std::vector<std::string>& found) {
  if (components.empty()) return found.push_back(folder.string());
  const std::string& component = components.front();
  const auto rest = components.subspan(1);
  if (component == "**" && !rest.empty()) return match_below(folder, rest, found);
  if (component.find_first_of("*?[\\") != component.npos) {
    for (const std::string& name : names_in(folder)) {
      if (::fnmatch(component.c_str(), name.c_str(), FNM_PERIOD) == 0) match(folder / name, rest, found);
    }
    return;
  }
  std::error_code error;
  const fs::path path = folder / component;
  const bool exists = fs::exists(fs::status(path, error));
  if (error && !is_absent(error)) fail(path, error);
  if (exists) match(path, rest, found);
}

}  // namespace

std::vector<std::string> matching_files(const std::string& glob) {
  const fs::path whole(glob);
  std::vector<std::string> components, found;
  for (const fs::path& component : whole.relative_path()) components.push_back(component.string());
  match(whole.root_path(), components, found);
  std::ranges::sort(found);  // with two `**`, one may have been found twice
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace mirrortrain::data
