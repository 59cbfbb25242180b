#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/event.h"
#include "strategy/strategy.h"
#include "train/staleness.h"
#include "train/training_steps.h"

namespace mirrortrain {

/// The mean loss and metrics of `sums`.
report::Scores scores_of(const StepSums& sums, const Model& model);

/// Creates events from the training state and from the results and times of steps.
class TrainingEvents {
 public:
  using Emit = std::function<void(const report::Event&)>;

  /// `workers`: their names, if there are several. `shows_progress`: whether progress events are displayed. All must
  /// outlive it.
  TrainingEvents(Strategy& strategy, TrainingSteps& steps, const Model& model, const std::vector<std::string>& workers,
                 bool shows_progress, Emit emit);

  /// Starts the run's time at `seconds`.
  void start_at(double seconds) { earlier_seconds_ = seconds; }
  /// Seconds since the start of the run, including its earlier parts.
  double seconds() const;

  /// Adds training time, and the examples of the steps begun in it.
  void add_training(double seconds, std::int64_t examples = 0);

  /// Emits the sums of the steps since the last event, and clears them. `norms`: of the last step, if they are logged.
  void emit_step(TrainingState& state, double learning_rate, std::optional<report::GradientNorms> norms);
  /// The event at the end of an epoch, whose sums are taken.
  report::EpochEvent epoch_event(const TrainingState& state);
  // From data collected anyway: drawing a line never waits for a device.
  void emit_progress(const TrainingState& state);
  void emit_evaluation_progress(const TrainingState& state, std::string_view split, std::int64_t batch,
                                std::int64_t batches);
  void emit(const report::Event& event) const { emit_(event); }
  /// The worker that the others waited for in all steps, if they did much; see report::straggler_of.
  std::optional<std::pair<std::string, double>> straggler() const;

 private:
  bool has_model() const { return !model_.layers.empty(); }
  std::optional<report::Scores> training_scores(const StepSums& sums) const;
  bool progress_is_due();
  double examples_per_second() const;

  /// Of the run's workers, over some steps.
  struct OfWorkers {
    WaitedFor waited_for;
    StalenessHistogram staleness_before;  ///< of the updates before these steps
  };
  void take_waited_for();
  report::WaitedForWorkers by_worker(const WaitedFor& waited_for) const;
  template <class Event>
  double end_steps(OfWorkers& steps, Event& event);

  Strategy& strategy_;
  TrainingSteps& steps_;
  const Model& model_;
  const std::vector<std::string>& workers_;
  const bool shows_progress_;
  const Emit emit_;

  // Since the last step event.
  double training_seconds_ = 0;
  std::int64_t training_examples_ = 0;

  OfWorkers since_step_event_, of_epoch_, all_;

  report::Scores progress_;
  std::vector<report::StateReading> progress_state_;
  double next_progress_ = 0;
  double earlier_seconds_ = 0;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace mirrortrain
