#pragma once

#include <filesystem>

namespace mirrortrain {

/// Keeps a run folder for one process at a time: holds a lock on run.lock there, which says who holds it. What a
/// process left that was killed, or a machine that lost power, does not count.
class RunLock {
 public:
  RunLock() = default;
  /// Throws UsageError naming the process that holds the folder, Error where the file cannot be written.
  explicit RunLock(const std::filesystem::path& run_folder);
  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&& other) noexcept;
  /// Removes the file.
  ~RunLock();

  /// Whether the file was removed or replaced, and another process may hold the folder. Not where the folder is gone.
  bool is_lost() const;
  /// Throws Error, naming the file, where the lock is lost.
  void require_held() const;

  static constexpr const char* kName = "run.lock";

 private:
  void release();

  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace mirrortrain
