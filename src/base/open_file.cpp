#include "base/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <mutex>
#include <set>
#include <utility>

namespace mirrortrain {
namespace {

/// Device and inode of the files that were opened.
class FilesRead {
 public:
  void add(const struct stat& file) {
    if (!S_ISREG(file.st_mode)) return;
    const std::lock_guard lock(mutex_);
    if (files_.size() < kMost) files_.emplace(file.st_dev, file.st_ino);
  }
  bool has(const struct stat& file) {
    const std::lock_guard lock(mutex_);
    return files_.contains({file.st_dev, file.st_ino});
  }

 private:
  static constexpr std::size_t kMost = 10'000;  // pictures may be millions
  std::mutex mutex_;
  std::set<std::pair<dev_t, ino_t>> files_;
};

FilesRead& files_read() {
  static FilesRead files;
  return files;
}

}  // namespace

int open_to_read(const std::filesystem::path& path) {
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0 && errno == EWOULDBLOCK) {
    descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);  // a lease, which only regular files have
  }
  struct stat file {};
  if (descriptor >= 0 && ::fstat(descriptor, &file) == 0) files_read().add(file);
  return descriptor;
}

bool was_read(const std::filesystem::path& path) {
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 && files_read().has(file);
}

void note_read(const std::filesystem::path& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) == 0) files_read().add(file);
}

}  // namespace mirrortrain
