#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "launch/side_by_side.h"
#include "strategy/topology.h"

namespace mirrortrain {

/// The processes of a sweep's runs, several at a time, each on an equal part of the machine. They show their progress
/// themselves.
class SweptRuns {
 public:
  /// `parts`: runs at a time; if there is one, it has the whole machine. `gpus`: how many there are. `signal`: 0, or
  /// one to this process, which is passed on to the runs. It must outlive this.
  SweptRuns(int parts, const Machine& machine, std::size_t gpus, const std::atomic<int>& signal);

  /// Waits until a part of the machine is idle. False if no run is to be started any more: after a signal to this
  /// process, or one that ended a run.
  bool await_room();
  /// On an idle part. `words`: what follows the program's name. Throws Error.
  void start(const std::vector<std::string>& words) { processes_.start(words); }
  /// Waits for all. Returns the first exit code that is not 0, or that of a stop signal.
  int finish();

 private:
  bool is_stopped() const { return signal_ != 0 || exit_code_ > 128; }
  void take_ended();

  launch::SideBySide processes_;
  const std::atomic<int>& signal_;
  bool is_passed_on_ = false;
  int exit_code_ = 0;
};

}  // namespace mirrortrain
