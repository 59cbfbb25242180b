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

/// Whether gradients that the next update takes are accumulated. Those of an update that is skipped may be NaN, and
/// nobody reads them.
inline bool has_accumulated(const TrainingState& state) { return state.gradients > 0 && !state.skips_update; }

/// Calls take(name in state.json, field) for each number of where training stands.
template <class State, class Take>
void for_each_number(State& state, const Take& take) {
  take("step", state.step);
  take("updates", state.updates);
  take("accumulated_gradients", state.gradients);
  take("skips_update", state.skips_update);
  take("epoch", state.position.epoch);
  take("position", state.position.examples);
  take("dealt_among", state.position.workers);
  take("seconds", state.seconds);
  take("validated_epoch", state.validated_epoch);
}

/// The same of its sums.
template <class State, class Take>
void for_each_sums(State& state, const Take& take) {
  take("epoch_sums", state.epoch_sums);
  take("step_sums", state.step_sums);
}

/// What callbacks have seen becomes what the chief's have, on every worker; but for the kept weights.
void take_from_chief(const Workers& workers, CallbackState& state);
/// The same of where training stands, callbacks included.
void take_from_chief(const Workers& workers, TrainingState& state);

}  // namespace mirrortrain
