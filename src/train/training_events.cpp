#include "train/training_events.h"

#include <algorithm>
#include <span>
#include <utility>

#include "report/straggler.h"

namespace mirrortrain {
namespace {

/// Minimum interval between progress lines.
constexpr double kProgressSeconds = 0.1;

}  // namespace

report::Scores scores_of(const StepSums& sums, const Model& model) {
  const std::int64_t examples = std::max<std::int64_t>(1, sums.examples);
  report::Scores scores;
  scores.loss = sums.loss / static_cast<double>(examples);
  std::span<const double> left(sums.metrics);
  for (std::size_t i = 0; i < model.outputs.size(); ++i) {
    const OutputTraits& output = model.outputs[i];
    if (model.outputs.size() > 1) {
      scores.metrics.emplace_back(output.name + "_loss", sums.losses[i] / static_cast<double>(examples));
    }
    for (const ModelMetric& metric : output.metrics) {
      scores.metrics.emplace_back(metric.name, metric.value(left.first(metric.sums), examples));
      left = left.subspan(metric.sums);
    }
  }
  return scores;
}

TrainingEvents::TrainingEvents(Strategy& strategy, TrainingSteps& steps, const Model& model,
                               const std::vector<std::string>& workers, bool shows_progress, Emit emit)
    : strategy_(strategy),
      steps_(steps),
      model_(model),
      workers_(workers),
      shows_progress_(shows_progress),
      emit_(std::move(emit)) {}

double TrainingEvents::seconds() const {
  return earlier_seconds_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void TrainingEvents::add_training(double seconds, std::int64_t examples) {
  training_seconds_ += seconds;
  training_examples_ += examples;
}

/// Nothing without a model, or if every step was skipped.
std::optional<report::Scores> TrainingEvents::training_scores(const StepSums& sums) const {
  return has_model() && sums.examples > 0 ? std::optional(scores_of(sums, model_)) : std::nullopt;
}

void TrainingEvents::emit_step(TrainingState& state, double learning_rate, std::optional<report::GradientNorms> norms) {
  report::StepEvent event;
  event.step = state.step;
  event.epoch = state.position.epoch;
  if (has_model()) {
    event.scores = training_scores(state.step_sums);
    event.epoch_scores = training_scores(state.epoch_sums);
    event.learning_rate = learning_rate;
  }
  event.gradient_norms = std::move(norms);
  event.state = strategy_.state().readings();
  event.waiting = strategy_.take_waiting_shares();
  event.waiting_for_data = steps_.take_waiting_for_data(training_seconds_);
  event.examples_per_second = examples_per_second();
  end_steps(since_step_event_, event);
  event.seconds = seconds();
  emit_(event);
  state.step_sums.clear();
  training_seconds_ = 0;
  training_examples_ = 0;
}

void TrainingEvents::take_waited_for() {
  const WaitedFor taken = strategy_.take_waited_for();
  for (OfWorkers* const steps : {&since_step_event_, &of_epoch_, &all_}) steps->waited_for += taken;
}

report::WaitedForWorkers TrainingEvents::by_worker(const WaitedFor& waited_for) const {
  const std::vector<double> shares = waited_for.shares();
  report::WaitedForWorkers by_worker;
  for (std::size_t i = 0; i < std::min(shares.size(), workers_.size()); ++i) {
    by_worker.emplace_back(workers_[i], shares[i]);
  }
  return by_worker;
}

std::optional<std::pair<std::string, double>> TrainingEvents::straggler() const {
  WaitedFor all = all_.waited_for;
  all += strategy_.take_waited_for();  // a run that is stopped has steps that no event reports
  return report::straggler_of(by_worker(all), all.seconds);
}

/// Puts into `event` what is known of these steps' workers, and begins the next steps. Returns the time of these.
template <class Event>
double TrainingEvents::end_steps(OfWorkers& steps, Event& event) {
  take_waited_for();
  const double seconds = steps.waited_for.seconds;
  event.waited_for = by_worker(steps.waited_for);
  StalenessHistogram staleness = strategy_.staleness();
  event.staleness = since(steps.staleness_before, staleness);
  steps = {{}, std::move(staleness)};
  return seconds;
}

report::EpochEvent TrainingEvents::epoch_event(const TrainingState& state) {
  report::EpochEvent event;
  event.step = state.step;
  event.epoch = state.position.epoch;
  event.scores = training_scores(state.epoch_sums);
  event.state = strategy_.state().readings();
  const double seconds = end_steps(of_epoch_, event);
  event.straggler = report::straggler_of(event.waited_for, seconds);
  return event;
}

/// Whether a progress line is displayed and due; if so, starts the next interval.
bool TrainingEvents::progress_is_due() {
  if (!shows_progress_) return false;
  const double now = seconds();
  if (now < next_progress_) return false;
  next_progress_ = now + kProgressSeconds;
  return true;
}

void TrainingEvents::emit_progress(const TrainingState& state) {
  if (!progress_is_due()) return;
  report::ProgressEvent event;
  event.step = state.step;
  event.epoch = state.position.epoch;
  constexpr double kLeastMeasured = 1;  // seconds; the first steps are slower than the others
  if (seconds() >= kLeastMeasured) event.examples_per_second = examples_per_second();
  if (has_model() && state.epoch_sums.examples > 0) {
    progress_ = scores_of(state.epoch_sums, model_);
    event.scores = &progress_;
  }
  progress_state_ = strategy_.state().readings();
  event.state = &progress_state_;
  emit_(event);
}

void TrainingEvents::emit_evaluation_progress(const TrainingState& state, std::string_view split, std::int64_t batch,
                                              std::int64_t batches) {
  if (!progress_is_due()) return;
  report::ProgressEvent event;
  event.step = state.step;
  event.epoch = state.position.epoch;
  event.split = split;
  event.batch = batch;
  event.batches = batches;
  emit_(event);
}

double TrainingEvents::examples_per_second() const {
  return training_seconds_ > 0 ? static_cast<double>(training_examples_) / training_seconds_ : 0;
}

}  // namespace mirrortrain
