#include "base/barrier.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>

#include "base/error.h"
#include "base/futex.h"
#include "base/relax.h"

namespace mirrortrain {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

// Long enough for lanes that finish a step's part at slightly different times. A lane that is later than this was
// preempted by another process: sleeping lets the scheduler share the cores.
constexpr nanoseconds kSpinTime = std::chrono::microseconds(100);
// With an observer, who can do something about late threads.
constexpr nanoseconds kObservedSpinTime = std::chrono::microseconds(30), kObservedSleep = std::chrono::milliseconds(1);

}  // namespace

Barrier::Barrier(int size, bool spin, double timeout_seconds, Observer* observer)
    : size_(size), spin_(spin), observer_(observer), timeout_(from_seconds(timeout_seconds)) {}

void Barrier::arrive_and_wait() {
  const std::uint32_t generation = generation_.load(std::memory_order_acquire);
  throw_if_aborted();
  if (observer_) observer_->arrives();
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<std::uint32_t>(size_)) {
    arrived_.store(0, std::memory_order_relaxed);
    // Sequentially consistent, as in sleep_until_past: either this thread sees the sleeper, or the sleeper sees the new
    // generation.
    generation_.fetch_add(1);
    if (sleepers_.load() > 0) futex_wake_all(generation_, FutexScope::kProcess);
  } else if (spin_ ? !spin_until_past(generation) : !yield_until_past(generation)) {
    sleep_until_past(generation);
  }
  if (observer_) observer_->passes();
  throw_if_aborted();
}

bool Barrier::past(std::uint32_t generation) const { return generation_.load(std::memory_order_acquire) != generation; }

bool Barrier::spin_until_past(std::uint32_t generation) const {
  // Reading the clock is not free: it is first read after the first spins, and then only between batches of them.
  Clock::time_point start{};
  while (true) {
    for (int i = 0; i < 200; ++i) {
      if (past(generation)) return true;
      relax();
    }
    const auto now = Clock::now();
    if (start == Clock::time_point{}) start = now;
    if (now - start > (observer_ ? kObservedSpinTime : kSpinTime)) return false;
  }
}

bool Barrier::yield_until_past(std::uint32_t generation) const {
  for (int i = 0; i < 20; ++i) {
    if (past(generation)) return true;
    sched_yield();
  }
  return false;
}

void Barrier::sleep_until_past(std::uint32_t generation) {
  // Waits in short sleeps, each counted as at most its requested length, so that an hour during which the process was
  // stopped (Ctrl-Z) does not count.
  const nanoseconds longest = observer_ ? kObservedSleep : std::chrono::seconds(1);
  const nanoseconds timeout = timeout_;
  nanoseconds waited{};
  sleepers_.fetch_add(1);
  while (generation_.load() == generation) {
    if (timeout > nanoseconds::zero() && waited >= timeout) {
      abort(
          fmt::format("waited {:g} seconds at a barrier that not all of {} devices reached; one of them is stuck, "
                      "or strategy.communication.timeout_seconds is too short",
                      std::chrono::duration<double>(timeout).count(), size_));
      break;
    }
    if (observer_) observer_->sleeps();
    const nanoseconds sleep = timeout > nanoseconds::zero() ? std::min(longest, timeout - waited) : longest;
    const auto start = Clock::now();
    futex_wait(generation_, generation, sleep, FutexScope::kProcess);
    waited += std::min<nanoseconds>(sleep, Clock::now() - start);
  }
  sleepers_.fetch_sub(1);
}

void Barrier::abort(const std::string& reason) {
  {
    const std::lock_guard lock(reason_mutex_);
    if (aborted()) return;
    reason_ = reason;
    aborted_.store(true, std::memory_order_release);
  }
  generation_.fetch_add(1);
  futex_wake_all(generation_, FutexScope::kProcess);
}

void Barrier::throw_reason() {
  const std::lock_guard lock(reason_mutex_);
  throw Error(reason_);
}

}  // namespace mirrortrain
