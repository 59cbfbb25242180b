#include "data/files/positioned_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "base/descriptor.h"
#include "base/error.h"
#include "base/open_file.h"
#include "data/files/input.h"

namespace mirrortrain::data {
namespace {

/// So many stay open; the system allows a process 1024 files and more.
constexpr int kMostOpen = 256;
std::atomic<int> files_open = 0;

std::int64_t tenths_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return std::int64_t{now.tv_sec} * 10 + now.tv_nsec / 100'000'000;
}

/// What is not kept open, open for as long as this lives.
class OpenFile {
 public:
  OpenFile(int kept, const std::string& path) : own_(kept < 0 ? open_to_read(path) : -1), number_(kept) {}
  int number() const { return own_.is_open() ? own_.get() : number_; }

 private:
  const Descriptor own_;
  const int number_;  ///< -1: none is kept
};

}  // namespace

PositionedFile::PositionedFile(std::string path) : path_(std::move(path)) {
  static_cast<void>(PlainFile(path_));  // which refuses what cannot be read
  descriptor_ = open_to_read(path_);
  if (descriptor_ < 0) fail(fmt::format("cannot be read: {}", std::strerror(errno)));
  stamp_ = stamp_of(descriptor_, path_);
  checked_ = tenths_now();
  if (files_open++ < kMostOpen) return;
  --files_open;
  ::close(std::exchange(descriptor_, -1));
}

PositionedFile::~PositionedFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  --files_open;
}

PositionedFile::Stamp PositionedFile::stamp_of(int descriptor, const std::string& path) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) {
    throw Error(fmt::format("{}: cannot read this data file: {}", path, std::strerror(errno)));
  }
  return {static_cast<std::uint64_t>(status.st_size), static_cast<std::uint64_t>(status.st_dev),
          static_cast<std::uint64_t>(status.st_ino), status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

void PositionedFile::fail(const std::string& what) const {
  throw Error(
      fmt::format("{}: this data file {}, while the run reads it; restore it, and resume the run", path_, what));
}

void PositionedFile::require_unchanged(int descriptor) const {
  const Stamp now = stamp_of(descriptor, path_);
  if (now == stamp_) return;
  if (now.size < stamp_.size) fail(fmt::format("became shorter, {} bytes of {}", now.size, stamp_.size));
  fail(now.inode != stamp_.inode || now.device != stamp_.device ? "was replaced by another" : "was changed");
}

void PositionedFile::will_read(std::uint64_t offset, std::uint64_t bytes) const {
  const OpenFile file(descriptor_, path_);
  if (file.number() < 0 || bytes == 0) return;  // of 0 bytes, the system would fetch the whole file
  static_cast<void>(
      ::posix_fadvise(file.number(), static_cast<off_t>(offset), static_cast<off_t>(bytes), POSIX_FADV_WILLNEED));
}

void PositionedFile::read(std::uint64_t offset, std::span<std::byte> to) const {
  const OpenFile file(descriptor_, path_);
  if (file.number() < 0) fail(fmt::format("cannot be opened any more: {}", std::strerror(errno)));
  constexpr std::int64_t kCheckedEvery = 5;
  const std::int64_t now = tenths_now();
  const bool checks = descriptor_ < 0 || now - checked_.load(std::memory_order_relaxed) >= kCheckedEvery;
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t count = ::pread(file.number(), to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(fmt::format("cannot be read: {}", std::strerror(errno)));
    if (count == 0) {
      require_unchanged(file.number());
      fail(fmt::format("ends after {} bytes, before those wanted", offset + done));
    }
    done += static_cast<std::size_t>(count);
  }
  if (!checks) return;
  require_unchanged(file.number());
  checked_.store(now, std::memory_order_relaxed);
}

}  // namespace mirrortrain::data
