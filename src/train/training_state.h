#pragma once

#include <cstdint>

#include "data/order.h"
#include "model/learning_rate.h"
#include "strategy/steps/sums.h"
#include "strategy/variables/weight_update.h"

namespace mirrortrain {

/// Where training stands between two steps, beside the variables.
struct TrainingState {
  std::int64_t step = 0;           ///< global batches done
  std::int64_t updates = 0;        ///< of the weights
  std::int64_t gradients = 0;      ///< accumulated since the last update
  data::Order::Position position;  ///< where the next batch begins
  Sums epoch_sums;                 ///< of the epoch that position is in
  Sums step_sums;                  ///< since the last step event
  double seconds = 0;              ///< since the start of the run, its earlier parts included
};

/// Takes the state to its next step and tells what that step's gradients are for: every `accumulate_steps`-th step
/// updates the weights.
UpdateStep next_update(TrainingState& state, std::int64_t accumulate_steps, const LearningRate& learning_rate);

}  // namespace mirrortrain
