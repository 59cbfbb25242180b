#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/order.h"
#include "model/learning_rate.h"
#include "report/event.h"
#include "strategy/strategy.h"
#include "train/callback_state.h"

namespace mirrortrain {

/// What the summary tells of the last epoch.
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

/// The step after `state`, without examples, and takes `state` there but for its position and sums. Every
/// `accumulate_steps`-th step updates the weights.
StepSpec next_step(TrainingState& state, std::int64_t accumulate_steps, const LearningRate& learning_rate);

/// The step that `state` is after changed no variable: nor do those that are accumulated with it. Returns whether an
/// earlier one of these was skipped already.
bool skip_step(TrainingState& state);

/// Takes a strategy from one training step to the next: the next batch, and what its gradients are for.
class TrainingSteps {
 public:
  /// `examples`: null where there is no model. All must outlive it.
  TrainingSteps(Strategy& strategy, const data::Feeder* examples, data::Order& order, std::int64_t accumulate_steps,
                LearningRate learning_rate);

  /// Resumes from a state. Returns whether an epoch ends there.
  bool seek(const TrainingState& state);

  /// What the loop has to know of a step.
  struct Step {
    std::int64_t examples = 0;
    bool ends_epoch = false;
    double learning_rate = 0;
  };
  /// Trains on the next batch and takes `state` there, except its sums.
  Step train(TrainingState& state);

  /// Of the step that `state` is after.
  double learning_rate(const TrainingState& state) const;

  /// The share of `seconds` that each lane has waited for examples since the last call, on average; nothing where all
  /// examples are in memory.
  std::optional<double> take_waiting_for_data(double seconds);

  std::int64_t epoch_of(std::int64_t step) const { return (step - 1) / order_.batches_per_epoch() + 1; }
  /// What may have brought about that a step's numbers are not finite; empty where that is not known.
  std::string largest_input_text(std::int64_t step) const;

 private:
  void read_ahead(const data::Order::Batch& batch);

  Strategy& strategy_;
  const data::Feeder* examples_;
  data::Order& order_;
  std::int64_t accumulate_steps_;
  LearningRate learning_rate_;
  std::vector<std::int64_t> expected_;  ///< rows
};

}  // namespace mirrortrain
