#pragma once

#include <atomic>
#include <cstdint>

namespace mirrortrain {

/// Decides how many lanes do shared work. If another process has a lane's core, the others wait for the piece that it
/// is in the middle of, for some milliseconds each time. Then the last lane rests for a trial: the others run its
/// pieces, and the scheduler gives its core to that process. It keeps resting if this made steps faster, and from time
/// to time all lanes are tried again.
class WorkingLanes {
 public:
  explicit WorkingLanes(int lanes) : lanes_(lanes), working_(lanes) {}

  /// Lanes below this number work. Callable on any lane.
  int count() const { return working_.load(std::memory_order_relaxed); }
  bool all_work() const { return count() == lanes_; }
  /// On any lane: reports that it waited for another in the middle of a piece.
  void waited(double seconds);
  /// On lane 0, after each step, while no lane does shared work: decides which lanes work in the next.
  void step_took(double seconds);

 private:
  void end_window(double step_seconds, bool contended);
  void keep_for_long();

  const int lanes_;
  std::atomic<int> working_;
  std::atomic<std::int64_t> waited_ = 0;  ///< microseconds, in this window
  double seconds_ = 0;                    ///< of the steps of this window
  int steps_ = 0;
  double window_ = 0;       ///< seconds
  double long_window_ = 0;  ///< seconds; the last one
  bool on_trial_ = false;   ///< one lane less than before
  double step_before_ = 0;  ///< seconds of a step, before the trial
};

}  // namespace mirrortrain
