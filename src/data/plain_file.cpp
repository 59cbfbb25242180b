#include "data/plain_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace mirrortrain::data {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw Error(fmt::format("{}: cannot read this data file: {}", path, reason));
}

}  // namespace

PlainFile::PlainFile(const std::string& path) : path_(path) {
  // Not blocking, because opening a pipe that nobody writes to would wait indefinitely.
  descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) {
    fail(path,
         fmt::format(
             "{}; {}", std::strerror(errno),
             errno == EACCES
                 ? "allow reading it"
                 : "check the path; one in a file begins at the file's folder, one of --set where the program runs"));
  }
  struct stat status {};
  const bool known = ::fstat(descriptor_, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    ::close(std::exchange(descriptor_, -1));
    fail(path, S_ISDIR(status.st_mode) ? "it is a folder" : "it is not a regular file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

PlainFile::PlainFile(PlainFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

PlainFile::~PlainFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::size_t PlainFile::read_at(std::uint64_t offset, std::span<std::byte> to) const {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t count = ::pread(descriptor_, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path_, std::strerror(errno));
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

Bytes PlainFile::read_whole() const {
  Bytes bytes(size_, path_);
  if (read_at(0, {bytes.data(), bytes.size()}) != size_) fail(path_, "it became shorter while being read");
  return bytes;
}

}  // namespace mirrortrain::data
