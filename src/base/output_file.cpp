#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/descriptor.h"
#include "base/file_calls.h"
#include "base/files.h"

namespace mirrortrain {

namespace fs = std::filesystem;

namespace {

/// An open file's own name, by which it can be linked where /proc is mounted.
std::string name_of_descriptor(int descriptor) { return fmt::format("/proc/self/fd/{}", descriptor); }

}  // namespace

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

}  // namespace mirrortrain
