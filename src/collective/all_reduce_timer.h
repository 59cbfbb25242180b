#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "collective/communicator.h"
#include "device/device.h"

namespace mirrortrain {

struct AllReduceTiming {
  double seconds = 0;       ///< of one operation: median over the repetitions of the slowest rank's time
  std::uint64_t wrong = 0;  ///< elements, over all ranks and repetitions
};

struct AllReduceTimerOptions {
  bool in_place = true;
  bool spin = false;            ///< every rank has a core of its own (see Barrier)
  double timeout_seconds = 60;  ///< for the ranks' meetings between the operations
};

/// Sums float32 elements over the ranks, rank r's in devices[r]'s memory, each rank on a thread and a stream of its
/// own, for every count in turn, and checks every element of every repetition. A GPU's repetition is several operations
/// in a row, each on elements of its own, with one wait at the end, as a training step does. `report(index, timing)` is
/// called as each count is done, on some rank's thread. Rethrows what a rank's thread threw.
void time_all_reduce(std::span<Communicator* const> ranks, std::span<Device* const> devices,
                     std::span<const std::size_t> counts, const AllReduceTimerOptions& options,
                     const std::function<void(std::size_t index, const AllReduceTiming& timing)>& report);

}  // namespace mirrortrain
