#include "data/files/unpacked_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"

namespace mirrortrain::data {
namespace {

namespace fs = std::filesystem;

// Names in the folder: mirrortrain-0123...cdef.rows, which is locked, shared, by those who read it; while it is written
// mirrortrain-0123...cdef.rows.*.tmp; and mirrortrain-0123...cdef.lock, locked by who writes or removes these, with the
// Stamp of the complete file: a disk that failed, or was full, may have cut it since, or somebody may have changed it.
constexpr std::string_view kPrefix = "mirrortrain-", kRows = ".rows", kLock = ".lock";

/// 96 bits of an identity.
std::string name_of(const std::string& identity) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : identity) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3;
  return fmt::format("{}{:016x}{:08x}", kPrefix, hash, crc32_of(std::as_bytes(std::span(identity))));
}

std::string size_text(std::uint64_t bytes) {
  constexpr double kMiB = 1 << 20, kGiB = 1 << 30;
  const auto number = static_cast<double>(bytes);
  return number < kGiB ? fmt::format("{:.1f} MiB", number / kMiB) : fmt::format("{:.1f} GiB", number / kGiB);
}

/// flock, as often as a signal interrupts it. Throws SystemError, but where another has the lock and `how` does not
/// wait: then it returns false.
bool lock_file(int descriptor, int how, const fs::path& path) {
  while (::flock(descriptor, how) != 0) {
    if (errno == EWOULDBLOCK && (how & LOCK_NB) != 0) return false;
    if (errno == EINTR) continue;
    const int error = errno;
    throw SystemError(fmt::format("{}: cannot be locked: {}", path.string(), std::strerror(error)), error);
  }
  return true;
}

/// What tells a file from one that was changed since: whatever writes to it sets the time of its last change.
struct Stamp {
  std::uint64_t bytes = 0, inode = 0;
  std::int64_t seconds = 0, nanoseconds = 0;

  friend bool operator==(const Stamp&, const Stamp&) = default;
};

/// nullopt if there is no such file.
std::optional<Stamp> stamp_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return Stamp{static_cast<std::uint64_t>(status.st_size), status.st_ino, status.st_ctim.tv_sec,
               status.st_ctim.tv_nsec};
}

/// A name's lock, held for as long as this lives.
class Lock {
 public:
  /// Waits for others, unless `waits` is false: then it may not be held.
  Lock(const fs::path& path, bool waits) {
    while (true) {
      descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
      if (descriptor_ < 0) throw SystemError(fmt::format("{}: {}", path.string(), std::strerror(errno)), errno);
      bool is_locked = false;
      try {
        is_locked = lock_file(descriptor_, waits ? LOCK_EX : LOCK_EX | LOCK_NB, path);
      } catch (...) {
        ::close(descriptor_);
        throw;
      }
      // Whoever held it before may have removed the file.
      if (is_locked && is_named(descriptor_, path)) return;
      ::close(std::exchange(descriptor_, -1));
      if (!is_locked) return;
    }
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  bool is_held() const { return descriptor_ >= 0; }

  /// What `note` has noted last; nullopt if nothing.
  std::optional<Stamp> noted() const {
    Stamp stamp;
    if (::pread(descriptor_, &stamp, sizeof stamp, 0) != sizeof stamp) return std::nullopt;
    return stamp;
  }
  /// Throws SystemError.
  void note(const Stamp& stamp) const {
    if (::pwrite(descriptor_, &stamp, sizeof stamp, 0) == sizeof stamp) return;
    throw SystemError(fmt::format("its size cannot be written: {}", std::strerror(errno)), errno);
  }

 private:
  int descriptor_ = -1;
};

/// Removes a file if an exception ends its scope.
class RemovedOnFailure {
 public:
  explicit RemovedOnFailure(fs::path path) : path_(std::move(path)) {}
  RemovedOnFailure(const RemovedOnFailure&) = delete;
  RemovedOnFailure& operator=(const RemovedOnFailure&) = delete;
  ~RemovedOnFailure() {
    std::error_code none;
    if (std::uncaught_exceptions() > before_) fs::remove(path_, none);
  }

 private:
  fs::path path_;
  int before_ = std::uncaught_exceptions();
};

/// Whether a file is open to be read by a run.
bool is_read(const fs::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return errno != ENOENT;  // what is not known to be free stays
  const bool is_busy = ::flock(descriptor, LOCK_EX | LOCK_NB) != 0;
  ::close(descriptor);
  return is_busy;
}

/// The files in a folder that are a name's, those being written among them.
std::vector<fs::path> temporaries_of(const fs::path& folder, const std::string& name) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(name + std::string(kRows) + ".")) found.push_back(entry.path());
  }
  return found;
}

void make_folder(const fs::path& folder) {
  std::error_code none;
  if (!fs::is_directory(folder, none)) {
    create_folders(folder);
    if (folder == default_cache_directory()) fs::permissions(folder, fs::perms::owner_all, none);
  }
  struct stat status {};
  // In a folder that all may write to, another user could have made it.
  if (folder == default_cache_directory() && ::stat(folder.c_str(), &status) == 0 && status.st_uid != ::geteuid()) {
    throw Error(fmt::format("{}: it belongs to another user", folder.string()));
  }
}

void require_space(const fs::path& folder, const std::string& origin, std::uint64_t bytes) {
  struct statvfs status {};
  if (::statvfs(folder.c_str(), &status) != 0) return;  // writing shows what is wrong
  const std::uint64_t free = std::uint64_t{status.f_bavail} * status.f_frsize;
  if (free >= bytes) return;
  throw Error(
      fmt::format("{}: it is larger than data.memory, and unpacked it takes {} in {}, which has {} free; give "
                  "data.cache_directory a folder on a disk with more space, or run `mirrortrain cache clean`",
                  origin, size_text(bytes), folder.string(), size_text(free)));
}

}  // namespace

UnpackedFile::~UnpackedFile() { ::close(descriptor_); }

std::shared_ptr<const UnpackedFile> UnpackedFiles::find_or_write(const std::string& identity, const std::string& origin,
                                                                 const Size& size, const Write& write) const {
  const fs::path folder = folder_;
  const std::string name = name_of(identity);
  const fs::path path = folder / (name + std::string(kRows));
  try {
    make_folder(folder);
    const Lock lock(folder / (name + std::string(kLock)), true);
    const RemovedOnFailure left_behind(folder / (name + std::string(kLock)));
    std::error_code none;
    const std::optional<Stamp> found = stamp_of(path);
    if (!found || lock.noted() != found) {
      fs::remove_all(path, none);
      for (const fs::path& left : temporaries_of(folder, name)) fs::remove(left, none);
      require_space(folder, origin, size.bytes);
      AtomicFile file(path);
      std::uint64_t written = 0;
      write([&](std::span<const std::byte> some) {
        file.write(some);
        written += some.size();
      });
      if (size.is_exact && written != size.bytes) {
        throw Error(fmt::format("{}: unpacked it has {} bytes, where {} were expected", origin, written, size.bytes));
      }
      file.commit();
      lock.note(stamp_of(path).value_or(Stamp{}));
    }
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) throw SystemError(fmt::format("{}: {}", path.string(), std::strerror(errno)), errno);
    auto unpacked = std::make_shared<UnpackedFile>(path.string(), descriptor);
    lock_file(descriptor, LOCK_SH, path);
    return unpacked;
  } catch (const SystemError& error) {
    if (error.code() == ENOSPC || error.code() == EDQUOT || error.code() == EFBIG) {
      throw Error(fmt::format(
          "{}: it is larger than data.memory, and while it was unpacked into {} there was no space left ({}); give "
          "data.cache_directory a folder on a disk with more, or run `mirrortrain cache clean`",
          origin, folder_, std::strerror(error.code())));
    }
    throw Error(
        fmt::format("{}: it is larger than data.memory, and cannot be unpacked into {} ({}); give data.cache_directory "
                    "another folder",
                    origin, folder_, error.what()));
  } catch (const fs::filesystem_error& error) {
    throw Error(
        fmt::format("{}: it is larger than data.memory, and cannot be unpacked into {} ({}); give data.cache_directory "
                    "another folder",
                    origin, folder_, error.code().message()));
  }
}

namespace {

/// Calls visit(name without ending, its files but the lock) for all in the folder.
template <class Visit>
void for_each_name(const fs::path& folder, const Visit& visit) {
  std::error_code error;
  if (!fs::exists(folder, error)) return;
  std::map<std::string, std::vector<fs::path>> names;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string file = at->path().filename().string();
    const std::size_t dot = file.find('.');
    if (!file.starts_with(kPrefix) || dot == file.npos) continue;
    const bool is_rows = file.substr(dot).starts_with(kRows), is_lock = file.substr(dot) == kLock;
    if (!is_rows && !is_lock) continue;
    std::vector<fs::path>& files = names[file.substr(0, dot)];
    if (is_rows) files.push_back(at->path());
  }
  if (error) throw Error(fmt::format("{}: cannot read this folder: {}", folder.string(), error.message()));
  for (auto& [name, files] : names) {
    std::ranges::sort(files);
    visit(name, files);
  }
}

/// `is_free`: whether its name's lock could be had.
UnpackedFiles::Entry entry_of(const fs::path& path, bool is_free) {
  std::error_code none;
  const auto bytes = fs::file_size(path, none);
  const bool is_whole = path.extension() == kRows;
  return {path.string(), none ? 0 : bytes, is_whole ? is_read(path) : !is_free, is_whole};
}

}  // namespace

std::vector<UnpackedFiles::Entry> UnpackedFiles::entries() const {
  std::vector<Entry> all;
  for_each_name(folder_, [&](const std::string& name, const std::vector<fs::path>& files) {
    if (files.empty()) return;
    const Lock lock(fs::path(folder_) / (name + std::string(kLock)), false);
    for (const fs::path& file : files) all.push_back(entry_of(file, lock.is_held()));
  });
  return all;
}

std::vector<UnpackedFiles::Entry> UnpackedFiles::clean() const {
  std::vector<Entry> removed;
  for_each_name(folder_, [&](const std::string& name, const std::vector<fs::path>& files) {
    const fs::path lock_file = fs::path(folder_) / (name + std::string(kLock));
    const Lock lock(lock_file, false);
    if (!lock.is_held()) return;
    bool is_in_use = false;
    for (const fs::path& file : files) {
      const Entry entry = entry_of(file, true);
      is_in_use = is_in_use || entry.is_in_use;
      if (entry.is_in_use) continue;
      std::error_code error;
      fs::remove(file, error);
      if (error) throw Error(fmt::format("{}: cannot remove it: {}", file.string(), error.message()));
      removed.push_back(entry);
    }
    std::error_code none;
    if (!is_in_use) fs::remove(lock_file, none);  // while it is locked: whoever waits for it notices
  });
  return removed;
}

std::string default_cache_directory() {
  std::error_code none;
  fs::path temporary = fs::temp_directory_path(none);
  if (none) temporary = "/tmp";
  return (temporary / fmt::format("mirrortrain-cache-{}", ::geteuid())).string();
}

}  // namespace mirrortrain::data
