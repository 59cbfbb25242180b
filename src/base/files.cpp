#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/open_file.h"

namespace mirrortrain {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_with(std::string_view what, const fs::path& path, int reason) {
  throw SystemError(fmt::format("cannot {} {}: {}", what, path.string(), std::generic_category().message(reason)),
                    reason);
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

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

/// An open file's own name, by which it can be linked where /proc is mounted.
std::string name_of_descriptor(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }

/// A descriptor, or -1 with errno where there are no files without names.
int open_unnamed(const fs::path& folder, int access) {
#ifdef O_TMPFILE
  return ::open(folder.c_str(), O_TMPFILE | access | O_CLOEXEC, 0666);
#else
  errno = EOPNOTSUPP;
  return -1;
#endif
}

/// Whether a file of this name, and the temporary one that replaces it, can have their names.
bool has_short_name(const fs::path& target) {
  const long most = ::pathconf(folder_of(target).c_str(), _PC_NAME_MAX);
  constexpr long kOfTemporary = 32;
  return most <= 0 || static_cast<long>(target.filename().native().size()) + kOfTemporary <= most;
}

void rename_to(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) fail_with(fmt::format("rename {} to", from.string()), to, error.value());
}

template <class Bytes>
Bytes read_whole(const fs::path& path) {
  InputFile file(path);
  Bytes bytes(file.size() + 1, typename Bytes::value_type{});  // the size is only a hint: files of /proc have none
  std::size_t filled = 0;
  while (true) {
    filled += file.read(std::as_writable_bytes(std::span(bytes)).subspan(filled));
    if (filled < bytes.size()) break;
    bytes.resize(std::max<std::size_t>(2 * filled, 4096));
  }
  bytes.resize(filled);
  return bytes;
}

}  // namespace

fs::path resolve_symlinks(const fs::path& path) {
  return follow_links(path, [](const fs::path&) { return false; });
}

std::vector<std::byte> read_file(const fs::path& path) { return read_whole<std::vector<std::byte>>(path); }

std::string read_text_file(const fs::path& path) { return read_whole<std::string>(path); }

bool create_folder(const fs::path& folder) {
  if (::mkdir(folder.c_str(), 0777) != 0) {
    const int reason = errno;
    std::error_code ignored;
    if (reason == EEXIST && fs::is_directory(folder, ignored)) return false;
    if (fs::is_symlink(folder, ignored) && !fs::exists(folder, ignored)) {
      throw SystemError(fmt::format("cannot create the folder {}: it is a symbolic link to {}, which does not exist; "
                                    "create or mount that, or remove the link",
                                    folder.string(), fs::read_symlink(folder, ignored).string()),
                        reason);
    }
    fail_with("create the folder", folder, reason);
  }
  sync_folder(folder_of(folder));
  return true;
}

void create_folders(const fs::path& folder) {
  const fs::path path = folder.has_filename() ? folder : folder.parent_path();  // a/b/ ends in an empty name
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return;
  if (path.has_parent_path()) create_folders(path.parent_path());
  create_folder(path);
}

void sync_folder(const fs::path& folder) {
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptor.is_open()) fail_with("open the folder", folder, errno);
  // Some file systems cannot sync a folder and return EINVAL; nothing more can be done there.
  if (::fsync(descriptor.get()) != 0 && errno != EINVAL) fail_with("sync the folder", folder, errno);
}

void rename_durably(const fs::path& from, const fs::path& to) {
  rename_to(from, to);
  sync_folder(folder_of(to));
}

std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t start) {
  if (bytes.empty()) return start;  // zlib begins anew where there is no memory
  return static_cast<std::uint32_t>(::crc32_z(start, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

InputFile::InputFile(const fs::path& path) : path_(path) {
  descriptor_ = open_to_read(path);
  if (descriptor_ < 0) fail_with("read", path, errno);
  struct stat status {};
  const int reason = ::fstat(descriptor_, &status) != 0 ? errno : S_ISDIR(status.st_mode) ? EISDIR : 0;
  const bool is_regular = S_ISREG(status.st_mode);
  if (reason == 0 && is_regular) {
    size_ = static_cast<std::uint64_t>(status.st_size);
    return;
  }
  ::close(descriptor_);
  if (reason != 0) fail_with("read", path, reason);
  throw SystemError(fmt::format("cannot read {}: expected a file, found a pipe or a device", path.string()), ESPIPE);
}

InputFile::~InputFile() { ::close(descriptor_); }

std::size_t InputFile::read(std::span<std::byte> bytes) {
  std::size_t filled = 0;
  while (filled < bytes.size()) {
    const ssize_t got = ::read(descriptor_, bytes.data() + filled, bytes.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with("read", path_, errno);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  crc32_ = crc32_of(bytes.first(filled), crc32_);
  return filled;
}

OutputFile::OutputFile(const fs::path& path, Mode mode, const fs::path& shown)
    : path_(shown.empty() ? path : shown), appends_(mode == Mode::kAppend) {
  const int flag = mode == Mode::kReplace ? O_TRUNC : mode == Mode::kAppend ? O_APPEND : O_EXCL;
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flag, 0666);
  if (descriptor_ < 0) fail_with("write", path_, errno);
}

OutputFile::OutputFile(int descriptor, const fs::path& shown)
    : path_(shown), descriptor_(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) {
  if (descriptor_ < 0) fail_with("write", path_, errno);
}

std::unique_ptr<OutputFile> OutputFile::without_name(const fs::path& folder, const fs::path& shown) {
  const Descriptor descriptor(open_unnamed(folder, O_WRONLY));
  if (!descriptor.is_open() || ::access(name_of_descriptor(descriptor.get()).c_str(), F_OK) != 0) return nullptr;
  return std::make_unique<OutputFile>(descriptor.get(), shown);
}

bool OutputFile::link(const fs::path& name) {
  const std::string own = name_of_descriptor(descriptor_);
  if (::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) return true;
  if (errno != EEXIST) fail_with("write", path_, errno);
  return false;
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(std::span<const std::byte> bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno != EINTR) {
      const int error = errno;
      if (appends_ && done > 0) take_back(done);
      fail_with("write", path_, error);
    }
  }
}

/// Removes what was written last: the disk was full in the middle of a line, say.
void OutputFile::take_back(std::size_t bytes) {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (::ftruncate(descriptor_, status.st_size - static_cast<off_t>(bytes)) != 0) return;  // the write's error counts
}

void OutputFile::overwrite(std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_with("write", path_, errno);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset += static_cast<std::uint64_t>(written);
  }
}

void OutputFile::set_mode(fs::perms mode) {
  struct stat status {};
  const auto wanted = static_cast<mode_t>(mode);
  if (::fstat(descriptor_, &status) == 0 && (status.st_mode & 07777) == wanted) return;
  if (::fchmod(descriptor_, wanted) != 0) fail_with("set the mode of", path_, errno);
}

void OutputFile::sync() {
  // A pipe or a terminal has nothing to sync and returns EINVAL.
  if (::fsync(descriptor_) != 0 && errno != EINVAL) fail_with("write", path_, errno);
}

bool is_named(int descriptor, const fs::path& path) {
  struct stat own {
  }, named{};
  return ::fstat(descriptor, &own) == 0 && ::stat(path.c_str(), &named) == 0 && own.st_dev == named.st_dev &&
         own.st_ino == named.st_ino;
}

void OutputFile::sync_and_close() {
  sync();
  // Network file systems and quotas may report a full disk only here.
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0) fail_with("write", path_, errno);
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
