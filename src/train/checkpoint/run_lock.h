#pragma once

#include <filesystem>

namespace mirrortrain {

/// Exclusive use of a run folder by one process: holds a lock on run.lock in it, which names the holder. A lock left
/// behind by a killed process, or a power failure, does not count.
class RunLock {
 public:
  RunLock() = default;
  /// Throws UsageError naming the process that holds the folder, Error if the file cannot be written.
  explicit RunLock(const std::filesystem::path& run_folder);
  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&& other) noexcept;
  /// Removes the file.
  ~RunLock();

  /// Whether the file was removed or replaced, so that another process may hold the folder. False if the folder is
  /// gone.
  bool is_lost() const;
  /// Throws Error, naming the file, if the lock is lost.
  void require_held() const;

  static constexpr const char* kName = "run.lock";

 private:
  void release();

  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace mirrortrain
