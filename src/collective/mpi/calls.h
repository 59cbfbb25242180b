#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

#include "cluster/mpi/session.h"

namespace mirrortrain::mpi {

using Clock = std::chrono::steady_clock;

/// Throws Error, naming the function and MPI's reason, unless it succeeded.
void check_call(int code, const char* function);

/// A duplicate of MPI_COMM_WORLD that returns errors; a collective call. Throws Error if the other ranks do not make it
/// within `timeout_seconds` (0: no limit).
MPI_Comm own_communicator(Session& session, double timeout_seconds);

/// Calls `done`, holding the lock of MPI calls, until it returns true or `seconds` (0: no limit) have passed since
/// `start`; returns whether it did. Yields the core after some microseconds, and polls slowly after a second.
template <class Done>
bool wait(Session& session, Clock::time_point start, double seconds, const Done& done) {
  const auto limit = std::chrono::duration<double>(seconds);
  for (std::uint64_t turn = 0;; ++turn) {
    {
      const std::lock_guard lock(session.calls());
      if (done()) return true;
    }
    if (turn % 16 != 15) continue;
    const auto waited = Clock::now() - start;
    if (seconds > 0 && waited > limit) return false;
    if (waited > std::chrono::seconds(1)) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    } else if (waited > std::chrono::microseconds(20)) {
      std::this_thread::yield();
    }
  }
}

}  // namespace mirrortrain::mpi
