#pragma once

#include <cstdint>
#include <optional>

#include "data/order/order.h"
#include "report/event.h"
#include "strategy/strategy.h"
#include "train/checkpoint/callback_state.h"

namespace mirrortrain {

/// What the summary says of the last epoch.
struct EpochScores {
  std::optional<report::Scores> train, validation;
};

/// Where training stands between two steps, beside the variables.
struct TrainingState {
  std::int64_t step = 0;             ///< global batches done
  std::int64_t updates = 0;          ///< of the weights
  std::int64_t gradients = 0;        ///< accumulated since the last update
  bool skips_update = false;         ///< one of the steps accumulated was skipped
  data::Order::Position position;    ///< where the next batch begins
  StepSums epoch_sums;               ///< of the epoch that position is in
  StepSums step_sums;                ///< since the last step event
  double seconds = 0;                ///< since the start of the run, its earlier parts included
  std::int64_t validated_epoch = 0;  ///< the last whose end was seen to, on every worker
  EpochScores last_epoch;            ///< of that epoch; the chief's alone after a resume
  CallbackState callbacks;           ///< up to that epoch
};

/// What callbacks have seen becomes what the chief's have, on every worker; but for the kept weights.
void take_from_chief(const Workers& workers, CallbackState& state);
/// The same of where training stands, callbacks included.
void take_from_chief(const Workers& workers, TrainingState& state);

}  // namespace mirrortrain
