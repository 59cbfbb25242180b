#pragma once

#include <sched.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <mutex>

namespace mirrortrain {

/// A thread of a ThreadTeam as the others see it: where it runs, and whether it does. Made on the thread itself, which
/// must be alive when others call. Where the system refuses to move it, nothing happens.
class TeamThread {
 public:
  TeamThread();
  TeamThread(const TeamThread&) = delete;
  TeamThread& operator=(const TeamThread&) = delete;

  /// Whether another process has its core while it has work: the time for which it has run, which else grows with every
  /// nanosecond, stands still while `watch()` spins. If that returns true, the answer is no longer needed.
  template <class Watch>
  bool lacks_core(const Watch& watch) const {
    const auto before = ran_for();
    return !is_asleep && !watch() && !is_asleep && ran_for() == before;
  }

  /// Where it runs from now on.
  void settle(const cpu_set_t& cores);
  /// Lets it run on `core` until `return_home`. If it waits for another core, it gets this one at once.
  void move_to(int core);
  /// Back to where it settled, if it was moved.
  void return_home();
  /// Exchanges the places where both settled; `other` is there when this returns, this one after its `return_home`.
  void exchange_homes(TeamThread& other);

  /// The core on which it settled, if it is a single one, else -1.
  int own_core() const;

  std::atomic<bool> in_part = false;    ///< it runs a part of a loop, or is about to take one
  std::atomic<bool> is_asleep = false;  ///< it waits for others, and needs no core

 private:
  std::chrono::nanoseconds ran_for() const;
  void run_on(const cpu_set_t& cores) const;

  const pid_t id_;
  clockid_t clock_{};
  mutable std::mutex mutex_;
  cpu_set_t home_{};
  std::atomic<bool> is_away_ = false;
};

/// The set with these cores alone.
template <class Cores>
cpu_set_t set_of(const Cores& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  return set;
}

}  // namespace mirrortrain
