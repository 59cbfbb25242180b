#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/barrier.h"
#include "device/cpu/team_thread.h"
#include "strategy/steps/working_lanes.h"

namespace mirrortrain {

/// Helps lanes whose cores other processes have while others wait for them: a lane that waits gives its own core to the
/// lane that it waits for, and sleeps. The lane computes there until it is no longer late, then it returns to its own
/// core. Only lanes with a core of their own help and are helped. Where that happens often, as in short steps, it may
/// be better that a lane rests: WorkingLanes tries it. Nothing is allocated after the lanes have entered.
class LateLanes : public Barrier::Observer {
 public:
  /// `working` must outlive it.
  LateLanes(int lanes, WorkingLanes& working) : lanes_(static_cast<std::size_t>(lanes)), working_(working) {}

  /// On the lane's thread, before it arrives at the barrier for the first time; its device has been entered.
  void enter(int lane);

  /// On a lane that waits for `lane`: if that lane has no core, gives it this one's, and sleeps for a moment.
  void help(int lane);
  /// On the lane that was waited for: it is no longer late.
  static void return_home();

  void arrives() override;
  /// Gives its core to a lane that has not arrived yet and has none. If all have theirs, waits a little longer.
  void sleeps() override;
  void passes() override { return_home(); }

 private:
  /// On its own cache line, as its lane writes it.
  struct alignas(64) Entered {
    TeamThread* thread = nullptr;
    std::atomic<std::uint32_t> arrivals = 0;
  };
  bool give_core(const Entered& self, const Entered& late);

  std::vector<Entered> lanes_;
  WorkingLanes& working_;
};

}  // namespace mirrortrain
