#include "train/trainer.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "base/error.h"
#include "train/checkpoint/non_finite.h"
#include "train/checkpoint/weights.h"
#include "train/staleness.h"

namespace mirrortrain {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// After this many consecutive non-finite steps, the weights or the data are at fault, and all further steps would be,
/// too.
constexpr int kMostSkippedInRow = 20;

std::string remedy_for(const Model& model) {
  return fmt::format(
      "{}lower optimizer.learning_rate, clip the gradients (gradients.clip_norm) or scale the inputs; "
      "training.on_non_finite: ignore continues",
      model.has_formulas ? fmt::format("{}; or ", kFormulaRemedy) : "");
}

}  // namespace

Trainer::Trainer(Strategy& strategy, TrainingSteps steps, const Model& model, const data::Feeder* validation,
                 Checkpoints& checkpoints, TrainerOptions options, Emit emit, Stop stop)
    : strategy_(strategy),
      steps_(std::move(steps)),
      model_(model),
      validation_(validation),
      checkpoints_(checkpoints),
      options_(std::move(options)),
      events_(strategy, steps_, model, options_.workers, options_.shows_progress, std::move(emit)),
      statistics_(strategy, model, options_.logging, options_.accumulate_steps),
      stop_(std::move(stop)) {}

TrainingState Trainer::run(TrainingState state) {
  state_ = std::move(state);
  for (StepSums* const sums : {&state_.epoch_sums, &state_.step_sums}) {
    sums->losses.resize(model_.outputs.size());
    sums->metrics.resize(model_.metric_sums());
  }
  events_.start_at(state_.seconds);
  state_.callbacks.watches.resize(options_.callbacks.watchers().size());
  epoch_ended_ = steps_.seek(state_);
  learning_rate_ = steps_.learning_rate(state_);
  train();
  return state_;
}

void Trainer::train() {
  stop_signal_ = stop_(state_.step);
  if (state_.step > 0 && state_.validated_epoch < state_.position.epoch) {  // stopped before the end of an epoch's end
    end_epoch_if_due();
    if (epoch_ended_) save_checkpoint();
  }
  while (!finished() && stop_signal_ == 0) {
    step();
    stop_signal_ = stop_(state_.step);
    const bool last = finished();
    const bool logs = state_.step % options_.log_every_steps == 0 || last;
    const bool checkpoint_due = options_.checkpoint_every_steps && state_.step % *options_.checkpoint_every_steps == 0;
    const bool saves = checkpoint_due || epoch_ended_ || last || stop_signal_ != 0;
    if (logs || saves) collect_sums();
    if (options_.check_replicas_every_steps && (saves || state_.step % *options_.check_replicas_every_steps == 0)) {
      require_equal_replicas();
    }
    if (logs) emit_step();
    end_epoch_if_due();
    if (saves) save_checkpoint();
  }
  checkpoints_.finish();
}

bool Trainer::finished() const {
  if (options_.callbacks.stops(state_.callbacks)) return true;
  if (options_.steps > 0 && state_.step >= options_.steps) return true;
  const std::int64_t epochs_done = state_.position.epoch - (epoch_ended_ && state_.step > 0 ? 0 : 1);
  return options_.epochs > 0 && epochs_done >= options_.epochs;
}

void Trainer::emit_step() { events_.emit_step(state_, learning_rate_, statistics_.gradient_norms(state_)); }

void Trainer::step() {
  const auto start = Clock::now();
  if (epoch_ended_) state_.epoch_sums.clear();
  const TrainingSteps::Step step = steps_.train(state_);
  statistics_.note_step();
  learning_rate_ = step.learning_rate;
  epoch_ended_ = step.ends_epoch;
  events_.add_training(seconds_since(start), step.examples);
  if (strategy_.must_take_sums()) collect_sums();
  events_.emit_progress(state_);
}

/// Adds each step's sums separately, so that totals do not depend on how many were in flight.
void Trainer::collect_sums() {
  const auto start = Clock::now();
  const std::span<const StepSums> all = strategy_.take_sums();
  std::int64_t step = state_.step - static_cast<std::int64_t>(all.size());
  for (const StepSums& sums : all) {
    ++step;
    if (sums.examples == 0) {
      note_skipped(step);
      continue;
    }
    skipped_in_row_ = 0;
    state_.epoch_sums += sums;
    state_.step_sums += sums;
    if (options_.on_non_finite != OnNonFinite::kIgnore && !std::isfinite(sums.loss)) {
      fail_not_finite(step,
                      fmt::format("the loss is {}{}", name_of_non_finite(sums.loss), outputs_not_finite(sums, model_)));
    }
  }
  events_.add_training(seconds_since(start));
}

/// The host waits for each step if steps may be skipped, so this is the last one.
void Trainer::note_skipped(std::int64_t step) {
  if (skip_step(state_)) {
    spdlog::warn("step {} (epoch {}) is skipped: it is accumulated with an earlier one that is", step,
                 steps_.epoch_of(step));
    return;
  }
  std::optional<std::string> found;
  strategy_.read_variables(Lasting::kAccumulated, [&](const LastingVariable& variable) {
    if (!found && variable.accumulated && has_non_finite(*variable.accumulated)) found = variable.value.name();
  });
  const std::string what = found ? fmt::format("the gradient of {} is not finite", *found) : "the loss is not finite";
  if (++skipped_in_row_ == kMostSkippedInRow) {
    fail_not_finite(step, fmt::format("{} steps in a row are skipped: {}", kMostSkippedInRow, what));
  }
  const std::string largest = steps_.largest_input_text(step);
  spdlog::warn("step {} (epoch {}) is skipped: {}{}{}", step, steps_.epoch_of(step), what, largest.empty() ? "" : "; ",
               largest);
}

/// Called on every worker in the same step, because sums and variables are those of all.
void Trainer::fail_not_finite(std::int64_t step, const std::string& what) {
  std::string text = fmt::format("step {} (epoch {}): {}", step, steps_.epoch_of(step), what);
  if (const auto found = checkpoints_.first_non_finite(state_)) {
    text += fmt::format("; {} has values that are not finite after step {}", *found, state_.step);
  }
  if (const std::string largest = steps_.largest_input_text(step); !largest.empty()) text += "; " + largest;
  throw NonFinite(fmt::format("{}; {}", text, remedy_for(model_)));
}

void Trainer::require_finite(const StepSums& sums, const data::Feeder& examples, std::string_view split) const {
  if (options_.on_non_finite == OnNonFinite::kIgnore || std::isfinite(sums.loss)) return;
  std::string text = fmt::format("epoch {}: the {} loss after step {} is {}{}", state_.position.epoch, split,
                                 state_.step, name_of_non_finite(sums.loss), outputs_not_finite(sums, model_));
  if (const auto found = checkpoints_.first_non_finite(state_)) {
    text += fmt::format("; {} has values that are not finite", *found);
  }
  std::vector<std::int64_t> rows(static_cast<std::size_t>(examples.rows()));
  std::iota(rows.begin(), rows.end(), 0);
  const std::string largest = largest_input_text(examples.dataset(), rows, fmt::format("the {} data", split));
  if (!largest.empty()) text += "; " + largest;
  throw NonFinite(fmt::format("{}; {}", text, remedy_for(model_)));
}

void Trainer::end_epoch_if_due() {
  if (!epoch_ended_ || stop_signal_ != 0) return;
  end_epoch();
  if (options_.is_interrupted()) stop_signal_ = stop_(state_.step);
}

void Trainer::end_epoch() {
  report::EpochEvent event = events_.epoch_event(state_);
  std::optional<StepSums> validated;
  if (validation_ != nullptr) {
    validated = evaluate(*validation_, "validation");
    if (!validated) return;
    event.validation = scores_of(*validated, model_);
  }
  event.seconds = seconds();
  events_.emit(event);
  if (validated) require_finite(*validated, *validation_, "validation");
  if (const auto histograms = statistics_.histograms(state_)) events_.emit(*histograms);
  state_.validated_epoch = event.epoch;
  run_callbacks(event);
  state_.last_epoch = {std::move(event.scores), std::move(event.validation)};
  const std::string text = staleness_text(event.staleness);
  if (!text.empty()) spdlog::info("epoch {}: staleness of the updates: {}", state_.position.epoch, text);
}

/// The chief decides. Only the chief keeps weights and reports.
void Trainer::run_callbacks(const report::EpochEvent& epoch) {
  const Callbacks& callbacks = options_.callbacks;
  if (callbacks.watchers().empty()) return;
  const std::vector<report::CallbackEvent> events = callbacks.end_epoch(epoch, state_.callbacks);
  take_from_chief(strategy_.workers(), state_.callbacks);
  const bool is_chief = strategy_.topology().is_chief();
  if (state_.callbacks.kept_epoch == epoch.epoch) {
    auto weights = std::make_shared<const StoredTensors>(copy_weights(strategy_, is_chief));
    if (is_chief) state_.callbacks.kept = std::move(weights);
  }
  is_best_ = callbacks.saves_best(state_.callbacks, epoch.epoch);
  if (callbacks.stops(state_.callbacks) && state_.step_sums.examples > 0) {
    emit_step();  // no later event would report these
  }
  if (!is_chief) return;
  for (const report::CallbackEvent& event : events) {
    events_.emit(event);
    spdlog::info(text_of(event));
  }
}

std::optional<StepSums> Trainer::evaluate(const data::Feeder& examples, std::string_view split) {
  const auto goes_on = [&](std::int64_t batch, std::int64_t batches) {
    events_.emit_evaluation_progress(state_, split, batch, batches);
    return !options_.is_interrupted();
  };
  return evaluate_while(goes_on, strategy_, examples, options_.batch_size);
}

/// Also before a checkpoint, which stores one replica's copy for all.
void Trainer::require_equal_replicas() {
  const std::string difference = strategy_.differing_replicas();
  if (difference.empty()) return;
  throw Error(
      fmt::format("step {}: {}, though all replicas share it; check the memory of that machine, and that every "
                  "machine runs the same build",
                  state_.step, difference));
}

void Trainer::save_checkpoint() {
  state_.seconds = seconds();
  if (options_.on_non_finite != OnNonFinite::kIgnore && checkpoints_.first_non_finite(state_)) {
    fail_not_finite(state_.step, "the update is not finite");
  }
  checkpoints_.save(state_, options_.keep_checkpoints, std::exchange(is_best_, false));
}

}  // namespace mirrortrain
