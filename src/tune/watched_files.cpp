#include "tune/watched_files.h"

#include <array>
#include <cstddef>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "data/files/file_list.h"

namespace mirrortrain::tune {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files_named(const std::string& path) {
  std::vector<std::string> files;
  std::error_code none;
  if (fs::is_directory(path, none)) {
    for (fs::recursive_directory_iterator at(path, none), end; at != end; at.increment(none)) {
      if (!at->is_directory(none)) files.push_back(at->path().string());
    }
    return files;
  }
  try {
    std::vector<std::string> remarks;
    return data::expanded(config::Path{path}, remarks);
  } catch (const Error&) {  // a glob without any file: reading the data says so
    return {};
  }
}

}  // namespace

FileStates look_at(const std::vector<std::string>& named) {
  FileStates states;
  for (const std::string& name : named) {
    for (const std::string& file : files_named(name)) states[file] = data::state_of(file);
  }
  return states;
}

std::string first_changed(const FileStates& before, const FileStates& now) {
  for (const FileStates* const states : {&now, &before}) {
    for (const auto& [name, unused] : *states) {
      const auto in_now = now.find(name), in_before = before.find(name);
      if (in_now == now.end() || in_before == before.end() || in_now->second != in_before->second) return name;
    }
  }
  return "";
}

std::uint32_t checksum_of(const FileStates& files) {
  std::uint32_t sum = 0;
  std::vector<std::byte> part(std::size_t{1} << 20);
  for (const auto& [name, state] : files) {
    InputFile file(name);
    while (file.read(part) == part.size()) {
    }
    const std::array<std::uint32_t, 1> of_file{file.crc32()};
    sum = crc32_of(std::as_bytes(std::span(of_file)), sum);
  }
  return sum;
}

}  // namespace mirrortrain::tune
