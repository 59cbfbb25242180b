#pragma once

#include <cstdint>
#include <optional>

#include "data/order/order.h"
#include "report/event.h"
#include "strategy/strategy.h"
#include "train/checkpoint/callback_state.h"

namespace mirrortrain {

/// The last epoch's scores in the summary.
struct EpochScores {
  std::optional<report::Scores> train, validation;
};

/// The training state between two steps, in addition to the variables.
struct TrainingState {
  std::int64_t step = 0;             ///< completed global batches
  std::int64_t updates = 0;          ///< number of weight updates
  std::int64_t gradients = 0;        ///< number accumulated since the last update
  bool skips_update = false;         ///< one of the steps accumulated was skipped
  data::Order::Position position;    ///< where the next batch begins
  StepSums epoch_sums;               ///< of the epoch that position is in
  StepSums step_sums;                ///< since the last step event
  double seconds = 0;                ///< since the start of the run, including its earlier parts
  std::int64_t validated_epoch = 0;  ///< last epoch whose end was processed, on every worker
  EpochScores last_epoch;            ///< of that epoch; only the chief's after a resume
  CallbackState callbacks;           ///< up to that epoch
};

/// Whether gradients for the next update are accumulated. Those of an update that is skipped may be NaN, and are not
/// read.
inline bool has_accumulated(const TrainingState& state) { return state.gradients > 0 && !state.skips_update; }

/// Calls take(name in state.json, field) for each number of the training state.
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

/// The same for its sums.
template <class State, class Take>
void for_each_sums(State& state, const Take& take) {
  take("epoch_sums", state.epoch_sums);
  take("step_sums", state.step_sums);
}

/// Broadcasts the chief's callback state, except the kept weights, to every worker.
void take_from_chief(const Workers& workers, CallbackState& state);
/// The same for the training state, including callbacks.
void take_from_chief(const Workers& workers, TrainingState& state);

}  // namespace mirrortrain
