#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <utility>

#include "base/barrier.h"
#include "device/device.h"
#include "kernels/scalar/step_params.h"

namespace mirrortrain {

/// A lane among those that compute on one memory, with their barrier and its memory for an update. On its own cache
/// lines: only its thread writes it.
struct alignas(64) DomainLane {
  int index = 0, lanes = 1, threads = 1;
  std::span<const int> replicas;  ///< that run on it, by their numbers in the domain
  Stream* stream = nullptr;
  Barrier* barrier = nullptr;    ///< of the domain's lanes; null for a single lane
  StepParams* params = nullptr;  ///< one for what replicas share, then one for each of `replicas`
  double* norms = nullptr;       ///< squared: of what replicas share, of the shards of all memories, of each replica
  double waited_seconds = 0;     ///< in `arrive_and_wait`
  double waited_for_sums = 0;    ///< seconds, for sums over domains that were added meanwhile

  bool is_first() const { return index == 0; }

  /// Returns when every lane of the domain has called it; all writes before it are visible to all after it.
  void arrive_and_wait() {
    if (barrier != nullptr) add_time(waited_seconds, [this] { barrier->arrive_and_wait(); });
  }

  /// Calls wait(), whose time is waiting for sums over domains.
  template <class Wait>
  void wait_for_sums(const Wait& wait) {
    add_time(waited_for_sums, wait);
  }

  /// One of `pieces` pieces of the lane's part, as if it were a lane: splitting it elsewhere gives the same bits, as
  /// between lanes. The first piece includes the replicas' own variables.
  DomainLane piece(int which, int pieces) const {
    DomainLane one = *this;
    one.index = index * pieces + which;
    one.lanes = lanes * pieces;
    if (which > 0) one.replicas = {};
    return one;
  }

  /// The lane's equal share [begin, end) of `count`, in multiples of `piece`.
  std::pair<std::int64_t, std::int64_t> part_of(std::int64_t count, std::int64_t piece) const {
    const std::int64_t pieces = (count + piece - 1) / piece;
    const auto edge = [&](int i) { return std::min(count, pieces * i / lanes * piece); };
    return {edge(index), edge(index + 1)};
  }

 private:
  template <class Wait>
  static void add_time(double& seconds, const Wait& wait) {
    const auto start = std::chrono::steady_clock::now();
    wait();
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
};

}  // namespace mirrortrain
