#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/order/order.h"
#include "model/learning_rate.h"
#include "strategy/strategy.h"
#include "train/checkpoint/training_state.h"
#include "train/session/run.h"

namespace mirrortrain {

/// The step after `state`, without examples; advances `state` except for its position and sums. Every
/// `accumulate_steps`-th step updates the weights.
StepSpec next_step(TrainingState& state, std::int64_t accumulate_steps, std::span<const LearningRate> learning_rates);

/// Records in `state` that the last step changed no variable: the steps accumulated with it do not, either. Returns
/// whether an earlier one of these was skipped already.
bool skip_step(TrainingState& state);

/// Runs training steps: the next batch, and the use of its gradients.
class TrainingSteps {
 public:
  /// `examples`: null if there is no model. All must outlive it.
  TrainingSteps(Strategy& strategy, const data::Feeder* examples, data::Order& order, std::int64_t accumulate_steps,
                std::vector<LearningRate> learning_rates);
  /// For a run that trains, with the configuration's accumulate_steps and learning rates.
  TrainingSteps(Run& run, const Configuration& values);

  /// Resumes from a state. Returns whether an epoch ends there.
  bool seek(const TrainingState& state);

  /// A step's results for the loop.
  struct Step {
    std::int64_t examples = 0;
    bool ends_epoch = false;
    double learning_rate = 0;  ///< the first optimizer's
  };
  /// Trains on the next batch and advances `state`, except its sums.
  Step train(TrainingState& state);

  /// Of the last step of `state`, the first optimizer's.
  double learning_rate(const TrainingState& state) const;

  /// The share of `seconds` that the lanes, on average, waited for examples since the last call; nothing if all
  /// examples are in memory.
  std::optional<double> take_waiting_for_data(double seconds);

  std::int64_t epoch_of(std::int64_t step) const { return (step - 1) / order_.batches_per_epoch() + 1; }
  /// A possible cause of a step's non-finite numbers; empty if unknown.
  std::string largest_input_text(std::int64_t step) const;

 private:
  void read_ahead(const data::Order::Batch& batch);

  Strategy& strategy_;
  const data::Feeder* examples_;
  data::Order& order_;
  std::int64_t accumulate_steps_;
  std::vector<LearningRate> learning_rates_;  ///< by optimizer
  std::vector<std::int64_t> expected_;        ///< rows
};

}  // namespace mirrortrain
