#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "collective/local/local_group.h"
#include "device/device.h"

namespace mirrortrain {

struct AllReduceTiming {
  double seconds = 0;       ///< median over the repetitions of the slowest rank's time
  std::uint64_t wrong = 0;  ///< elements, over all ranks and repetitions
};

/// Sums float32 elements over one rank per device, each on a thread of its own, for every count in turn, and checks
/// every element of every repetition. `report(index, timing)` is called as each count is done, on some rank's thread.
/// Rethrows what a rank's thread threw.
void time_all_reduce(const LocalGroupOptions& options, std::span<Device* const> devices,
                     std::span<const std::size_t> counts,
                     const std::function<void(std::size_t index, const AllReduceTiming& timing)>& report);

}  // namespace mirrortrain
