#pragma once

#include <cstdint>

#include "data/order.h"
#include "strategy/sums.h"

namespace mirrortrain {

/// Where training stands between two steps, beside the variables.
struct TrainingState {
  std::int64_t step = 0;           ///< global batches done
  std::int64_t updates = 0;        ///< of the weights
  data::Order::Position position;  ///< where the next batch begins
  Sums epoch_sums;                 ///< of the epoch that position is in
  Sums step_sums;                  ///< since the last step event
  double seconds = 0;              ///< since the start of the run, its earlier parts included
};

}  // namespace mirrortrain
