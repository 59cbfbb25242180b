#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace mirrortrain::launch {

/// Runs commands of this program as child processes, several at a time, each on its part of this machine. They are in
/// this process's group, so that they also receive Ctrl-C, and are stopped if this process is killed.
class SideBySide {
 public:
  /// `parts`: processes at a time; if there is one, it has the whole machine. A signal other than 0 is passed on to the
  /// processes, since it may have been sent to this one only.
  SideBySide(int parts, std::vector<int> cores, std::size_t gpus, const std::atomic<int>& signal);

  /// Waits until a part of the machine is idle. False if nothing is to be started any more: after a signal to this
  /// process, or one that ended a child.
  bool has_room();
  /// On an idle part. `words`: a command line, beginning with the program's name. Throws Error.
  void start(const std::vector<std::string>& words);
  /// Waits for all. Returns the first exit code that is not 0, or that of a stop signal.
  int finish();

 private:
  void wait_for_one();
  bool is_stopped() const { return signal_ != 0 || exit_code_ > 128; }
  pid_t start_on(int part, const std::vector<std::string>& words) const;

  const int parts_;
  const std::vector<int> cores_;
  const std::vector<std::string> gpus_;  ///< their names, for CUDA_VISIBLE_DEVICES
  const std::atomic<int>& signal_;
  bool is_passed_on_ = false;
  int exit_code_ = 0;
  std::map<pid_t, int> running_;  ///< with the number of each one's part
  std::vector<int> idle_;
};

}  // namespace mirrortrain::launch
