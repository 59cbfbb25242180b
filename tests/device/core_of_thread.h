#pragma once

#include <sched.h>

#include <chrono>
#include <thread>

namespace mirrortrain::testing {

/// The core that the calling thread is restricted to, -1 if there are several.
inline int only_core() {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof(allowed), &allowed);
  return CPU_COUNT(&allowed) == 1 ? sched_getcpu() : -1;
}

/// Sleeps, so that its clock stands still as that of a thread whose core another process has, until it may only run on
/// `core`. Whether that came.
inline bool is_moved_to(int core) {
  for (int i = 0; i < 10000 && only_core() != core; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return only_core() == core;
}

}  // namespace mirrortrain::testing
