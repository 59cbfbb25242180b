#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "report/event.h"
#include "strategy/strategy.h"
#include "train/training_steps.h"

namespace mirrortrain {

/// The mean loss and metrics of `sums`.
report::Scores scores_of(const StepSums& sums, const Model& model);

/// Makes events of where training stands and of what its steps gave and took.
class TrainingEvents {
 public:
  using Emit = std::function<void(const report::Event&)>;

  /// `shows_progress`: whether anybody sees progress events. All must outlive it.
  TrainingEvents(Strategy& strategy, TrainingSteps& steps, const Model& model, bool shows_progress, Emit emit);

  /// From here on the run's time goes on from `seconds`.
  void start_at(double seconds) { earlier_seconds_ = seconds; }
  /// Seconds since the start of the run, its earlier parts included.
  double seconds() const;

  /// Time that training took, and examples whose steps began in it.
  void add_training(double seconds, std::int64_t examples = 0);

  /// The sums of steps since the last one, which are cleared.
  void emit_step(TrainingState& state, double learning_rate);
  /// At the end of an epoch.
  report::EpochEvent epoch_event(const TrainingState& state) const;
  // Of what was collected for other reasons: nobody waits for a device to draw a line.
  void emit_progress(const TrainingState& state);
  void emit_evaluation_progress(const TrainingState& state, std::string_view split, std::int64_t batch,
                                std::int64_t batches);
  void emit(const report::Event& event) const { emit_(event); }

 private:
  bool has_model() const { return !model_.layers.empty(); }
  std::optional<report::Scores> training_scores(const StepSums& sums) const;
  bool progress_is_due();
  double examples_per_second() const;

  Strategy& strategy_;
  TrainingSteps& steps_;
  const Model& model_;
  const bool shows_progress_;
  const Emit emit_;

  // Since the last step event.
  double training_seconds_ = 0;
  std::int64_t training_examples_ = 0;

  report::Scores progress_;
  std::vector<report::StateReading> progress_state_;
  double next_progress_ = 0;
  double earlier_seconds_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace mirrortrain
