#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "collective/communicator.h"
#include "device/device.h"
#include "strategy/reduction/gradient_reducer.h"

namespace mirrortrain {

/// One memory domain of a timed reduction.
struct TimedDomain {
  std::vector<Device*> devices;  ///< one for each lane
  int replicas = 1;              ///< one for each lane, or all on a single lane
  std::unique_ptr<GradientReducer> reducer;
  Communicator* communicator = nullptr;  ///< to the other domains; null if there is only one
  bool sums_everywhere = false;          ///< whether every replica's elements become the sum, not only the first one's
};

struct ReductionTiming {
  double seconds = 0;       ///< of one reduction: median over the repetitions of the slowest lane's time
  std::uint64_t wrong = 0;  ///< elements, over all lanes and repetitions
};

/// Times the reduction of float32 elements for each count in turn, each lane on its own thread and stream. Before each
/// repetition every replica gets new elements, as a training step computes new gradients, and after it every sum is
/// checked. A GPU's repetition is several consecutive reductions of separate elements, with one wait at the end, as in
/// a training step. `spin`: every lane has its own core (see Barrier). `report(index, timing)` is called after each
/// count, on some lane's thread. Rethrows exceptions of lanes' threads.
void time_reduction(std::span<const TimedDomain> domains, std::span<const std::size_t> counts, bool spin,
                    double timeout_seconds,
                    const std::function<void(std::size_t index, const ReductionTiming& timing)>& report);

}  // namespace mirrortrain
