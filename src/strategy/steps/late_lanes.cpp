#include "strategy/steps/late_lanes.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/relax.h"
#include "device/cpu/thread_team.h"

namespace mirrortrain {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// How long a lane is watched to know whether it runs, and how long it may then be late until others sleep: waking up
// takes longer than most such waits.
constexpr microseconds kWatchTime{10}, kLateTime{60};
/// A lane computes for this long, at least, on the core that it was given.
constexpr microseconds kGivenTime{50};
/// Seconds that a lane without a core would at least have been waited for.
constexpr double kSpared = 1e-3;

thread_local int lane_here = -1;

template <class Done>
bool spin(const Done& done, microseconds time) {
  for (const auto end = Clock::now() + time; Clock::now() < end; relax()) {
    if (done()) return true;
  }
  return false;
}

}  // namespace

void LateLanes::enter(int lane) {
  lane_here = lane;
  lanes_[static_cast<std::size_t>(lane)].thread = ThreadTeam::of_this_thread().self();
}

void LateLanes::help(int lane) {
  const Entered &late = lanes_[static_cast<std::size_t>(lane)], &self = lanes_[static_cast<std::size_t>(lane_here)];
  if (give_core(self, late)) std::this_thread::sleep_for(kGivenTime);
}

/// Whether `late`, which is waited for, had no core and now has the one of `self`.
bool LateLanes::give_core(const Entered& self, const Entered& late) {
  if (late.thread == nullptr || self.thread == nullptr) return false;
  if (late.thread->own_core() < 0 || self.thread->own_core() < 0) return false;
  if (!late.thread->lacks_core([] { return spin([] { return false; }, kWatchTime); })) return false;
  late.thread->move_to(sched_getcpu());
  working_.waited(kSpared);
  return true;
}

void LateLanes::return_home() {
  if (TeamThread* const self = ThreadTeam::of_this_thread().self()) self->return_home();
}

void LateLanes::arrives() {
  lanes_[static_cast<std::size_t>(lane_here)].arrivals.fetch_add(1, std::memory_order_release);
}

void LateLanes::sleeps() {
  const Entered& self = lanes_[static_cast<std::size_t>(lane_here)];
  const std::uint32_t arrivals = self.arrivals.load(std::memory_order_relaxed);
  const auto has_arrived = [=](const Entered& lane) {
    return lane.arrivals.load(std::memory_order_acquire) == arrivals;
  };
  bool gave_core = false;
  for (const Entered& lane : lanes_) {
    if (!has_arrived(lane) && give_core(self, lane)) gave_core = true;
  }
  if (!gave_core) spin([&] { return std::ranges::all_of(lanes_, has_arrived); }, kLateTime);
}

}  // namespace mirrortrain
