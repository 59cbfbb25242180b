#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/model.h"
#include "report/event.h"
#include "strategy/strategy.h"
#include "train/checkpoint/training_state.h"
#include "train/configuration/logging_options.h"

namespace mirrortrain {

/// Histograms and norms of the model's variables and their gradients, as the section `logging` asks for them. They are
/// of what all replicas have together: the gradient is the one that the optimizer gets, so that it does not depend on
/// the devices, but for the rounding of other replicas. Every worker makes the same calls; the chief gets the numbers,
/// and the others empty ones.
class TensorStatistics {
 public:
  /// `accumulate_steps`: gradients.accumulate_steps. All must outlive it.
  TensorStatistics(Strategy& strategy, const Model& model, const LoggingOptions& options,
                   std::int64_t accumulate_steps);

  /// Call it after each training step: the strategy has its gradient then.
  void note_step() { has_gradients_ = true; }

  /// Of the last step's gradient; of the mean of the gradients accumulated so far. nullopt if they are not asked for,
  /// or if the step was skipped.
  std::optional<report::GradientNorms> gradient_norms(const TrainingState& state);
  /// After an epoch; nullopt if none are due. Gradients are absent from the epoch's end in a process that made no step.
  std::optional<report::HistogramsEvent> histograms(const TrainingState& state);

 private:
  bool is_chief() const { return strategy_.topology().is_chief(); }
  bool has_gradients(const TrainingState& state) const { return has_gradients_ && !state.skips_update; }
  template <class Take>
  void read_gradients(const TrainingState& state, const Take& take);

  Strategy& strategy_;
  const Model& model_;
  const LoggingOptions& options_;
  const std::int64_t accumulate_steps_;
  std::vector<std::size_t> layers_;  ///< of each variable, in Model::layers
  bool has_gradients_ = false;
};

}  // namespace mirrortrain
