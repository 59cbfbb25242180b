// Files that appear complete or not at all, and what is written through them.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <system_error>

#include "base/file_calls.h"
#include "base/files.h"
#include "base/open_file.h"

namespace mirrortrain {

namespace fs = std::filesystem;

namespace {

/// The file that a name refers to: links are followed until there is no other, or `stop` says so of one.
template <class Stop>
fs::path follow_links(const fs::path& path, const Stop& stop) {
  std::error_code error;
  constexpr int kMostLinks = 40;  // as many as the system follows
  fs::path real = path;
  for (int i = 0; i < kMostLinks && !stop(real) && fs::is_symlink(real, error); ++i) {
    const fs::path target = fs::read_symlink(real, error);
    if (error) return path;
    real = real.parent_path() / target;  // an absolute target replaces the whole path
  }
  return real;
}

/// The number in /dev/fd/3 and /proc/self/fd/3; nullopt for other names.
std::optional<int> descriptor_in(const fs::path& path) {
  const std::string name = path.lexically_normal().string();
  for (const std::string_view folder : {"/proc/self/fd/", "/dev/fd/"}) {
    if (!name.starts_with(folder)) continue;
    int number = -1;
    const auto [end, failed] = std::from_chars(name.data() + folder.size(), name.data() + name.size(), number);
    if (failed == std::errc() && end == name.data() + name.size() && number >= 0) return number;
  }
  return std::nullopt;
}

/// The descriptor that /dev/stdout or a link to such a name stands for. What it is open for goes on, whereas a file
/// that it has in common with others would be replaced.
std::optional<int> named_descriptor(const fs::path& path) {
  std::error_code error;
  return descriptor_in(
      follow_links(fs::absolute(path, error), [](const fs::path& name) { return descriptor_in(name).has_value(); }));
}

/// A device, a pipe or a folder, which a rename must not replace.
bool is_special(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) && !fs::is_regular_file(path, error);
}

constexpr std::string_view kTemporary = ".tmp";

fs::path next_temporary_name(const fs::path& target) {
  static std::atomic<int> number = 0;
  return fs::path(target) += fmt::format(".{}-{}{}", ::getpid(), ++number, kTemporary);
}

/// A name used by no other process and not left behind by a killed one: the file is newly created.
std::unique_ptr<OutputFile> temporary_file(const fs::path& target, fs::path& temporary) {
  while (true) {
    temporary = next_temporary_name(target);
    try {
      return std::make_unique<OutputFile>(temporary, OutputFile::Mode::kNew, target);
    } catch (const SystemError& error) {
      if (error.code() != EEXIST) throw;
    }
  }
}

/// Whether a file of this name, and the temporary one that replaces it, can have their names.
bool has_short_name(const fs::path& target) {
  const long most = ::pathconf(folder_of(target).c_str(), _PC_NAME_MAX);
  constexpr long kOfTemporary = 32;
  return most <= 0 || static_cast<long>(target.filename().native().size()) + kOfTemporary <= most;
}

}  // namespace

fs::path resolve_symlinks(const fs::path& path) {
  return follow_links(path, [](const fs::path&) { return false; });
}

AtomicFile::AtomicFile(const fs::path& path, Naming naming)
    : target_(resolve_symlinks(path)), temporary_(target_), naming_(naming) {
  if (const std::optional<int> descriptor = named_descriptor(path)) {
    target_ = temporary_ = path;
    file_ = std::make_unique<OutputFile>(*descriptor, path);
    return;
  }
  if (is_special(target_)) {
    file_ = std::make_unique<OutputFile>(target_, OutputFile::Mode::kReplace);
    return;
  }
  if (has_short_name(target_)) file_ = OutputFile::without_name(folder_of(target_), target_);
  if (file_ != nullptr) {
    temporary_.clear();
  } else {
    file_ = temporary_file(target_, temporary_);  // or throws what is wrong with the folder
  }
  std::error_code error;
  const fs::file_status there = fs::status(target_, error);
  if (fs::is_regular_file(there)) file_->set_mode(there.permissions());
}

AtomicFile::~AtomicFile() {
  if (!committed_ && !is_direct() && !temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  crc32_ = crc32_of(bytes, crc32_);
  file_->write(bytes);
}

bool AtomicFile::can_overwrite() const {
  std::error_code error;
  return !is_direct() || fs::is_regular_file(target_, error);
}

/// Gives a file without a name that of the target, once it is synced, or, where this has to be replaced, a temporary
/// one.
void AtomicFile::name_file() {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(target_, error))) {
    file_->sync();
    if (file_->link(target_)) return;
  }
  fs::path name;
  do {
    name = next_temporary_name(target_);
  } while (!file_->link(name));
  temporary_ = name;
}

void AtomicFile::commit() {
  if (!is_direct()) {
    if (temporary_.empty()) name_file();
    file_->sync_and_close();
    if (!temporary_.empty()) rename_to(temporary_, target_);
    if (naming_ == Naming::kDurable) sync_folder(folder_of(target_));
  }
  committed_ = true;
}

std::FILE* unnamed_file(const fs::path& folder) {
  int descriptor = open_unnamed(folder, O_RDWR);
  if (descriptor < 0) {
    std::string name = (folder / "mirrortrain.XXXXXX").string();
    descriptor = ::mkostemp(name.data(), O_CLOEXEC);
    if (descriptor < 0) return nullptr;
    ::unlink(name.c_str());
  }
  std::FILE* const file = ::fdopen(descriptor, "w+b");
  if (file == nullptr) ::close(descriptor);
  return file;
}

void require_not_read(const fs::path& path) {
  if (!was_read(path)) return;
  throw UsageError(
      fmt::format("{}: this file is read here, and the result would replace it; name another file", path.string()));
}

void write_result(const fs::path& path, std::string_view text) {
  require_not_read(path);
  write_file(path, text);
}

void write_file(const fs::path& path, std::string_view text, Naming naming) {
  AtomicFile file(path, naming);
  file.write(text);
  file.commit();
}

bool is_temporary(const fs::path& path) {
  // NAME.PID-NUMBER.tmp
  std::string name = path.filename().native();
  if (!name.ends_with(kTemporary)) return false;
  name.resize(name.size() - kTemporary.size());
  const std::size_t dot = name.rfind('.'), dash = name.rfind('-');
  if (dot == std::string::npos || dash == std::string::npos || dash < dot + 2 || dash + 1 == name.size()) return false;
  const auto is_number = [](std::string_view text) {
    return text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return is_number(std::string_view(name).substr(dot + 1, dash - dot - 1)) &&
         is_number(std::string_view(name).substr(dash + 1));
}

}  // namespace mirrortrain
