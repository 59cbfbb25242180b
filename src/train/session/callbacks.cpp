#include "train/session/callbacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "report/format.h"
#include "train/configuration/configuration.h"

namespace mirrortrain {
namespace {

/// NaN if every step of the epoch was skipped.
double value_of(const WatchedMetric& watched, const report::EpochEvent& epoch) {
  const std::optional<report::Scores>& of_split =
      watched.split == MetricSplit::kTrain ? epoch.scores : epoch.validation;
  if (!of_split) return std::nan("");
  const report::Scores& scores = *of_split;
  if (watched.metric.value == "loss") return scores.loss;
  return std::ranges::find(scores.metrics, watched.metric.value, [](const auto& metric) { return metric.first; })
      ->second;
}

/// As in Keras: compares in float32, and the first value is always an improvement, even NaN.
bool improves(const WatchedMetric& watched, double value, const std::optional<double>& than, double min_delta) {
  if (!than) return true;
  const auto reference = static_cast<float>(*than);
  return watched.less_is_better() ? static_cast<float>(value + min_delta) < reference
                                  : static_cast<float>(value - min_delta) > reference;
}

/// Whether a value is the best so far; if so, stores it.
bool takes_best(const WatchedMetric& watched, double value, double min_delta, std::int64_t epoch, WatchState& watch) {
  if (!improves(watched, value, watch.best, min_delta)) return false;
  watch.best = value;
  watch.best_epoch = epoch;
  return true;
}

/// An epoch's end, in addition to the callback's state.
struct EpochEnd {
  std::int64_t epoch = 0;
  double value = 0;       ///< of the monitored metric
  double configured = 0;  ///< the learning rate
};

/// Each returns whether there is something to report: here that training ends.
bool look(const EarlyStopping& options, const EpochEnd& end, WatchState& watch, CallbackState&) {
  watch.stopped = false;
  if (end.epoch <= options.start_from_epoch) return false;
  ++watch.waited;
  if (takes_best(options.watched, end.value, options.min_delta, end.epoch, watch)) {
    if (improves(options.watched, end.value, options.baseline, options.min_delta)) watch.waited = 0;
    return false;
  }
  if (watch.waited < options.patience || end.epoch == 1) return false;
  watch.stopped = true;
  return true;
}

/// Reports a changed learning rate.
bool look(const ReduceOnPlateau& options, const EpochEnd& end, WatchState& watch, CallbackState& state) {
  if (watch.cooling > 0) {
    --watch.cooling;
    watch.waited = 0;
  }
  if (takes_best(options.watched, end.value, options.min_delta, end.epoch, watch)) {
    watch.waited = 0;
    return false;
  }
  if (watch.cooling > 0) return false;
  ++watch.waited;
  // Keras stores the rate as float32.
  const auto rate = static_cast<float>(state.learning_rate_from(end.configured));
  if (watch.waited < options.patience || rate <= static_cast<float>(options.min_learning_rate)) return false;
  const double reduced = std::max(rate * options.factor, options.min_learning_rate);
  state.learning_rate = ReducedRate{end.configured, static_cast<float>(reduced)};
  watch.cooling = options.cooldown;
  watch.waited = 0;
  return true;
}

/// Reports nothing.
bool look(const SaveBest& options, const EpochEnd& end, WatchState& watch, CallbackState&) {
  takes_best(options.watched, end.value, 0, end.epoch, watch);
  return false;
}

report::CallbackEvent event_of(std::string_view name, const WatchedMetric& watched, const WatchState& watch) {
  report::CallbackEvent event;
  event.callback = name;
  event.metric = watched.metric.value;
  event.split = config::name_of(watched.split);
  event.best = watch.best;
  event.best_epoch = watch.best_epoch;
  return event;
}

}  // namespace

const WatchedMetric& watched_by(const Callbacks::Watcher& watcher) {
  return std::visit([](const auto& options) -> const WatchedMetric& { return options.watched; }, watcher);
}

std::string_view name_of(const Callbacks::Watcher& watcher) {
  return std::visit([](const auto& options) { return options.kName; }, watcher);
}

Callbacks::Callbacks(std::vector<Watcher> watchers, double learning_rate)
    : watchers_(std::move(watchers)), learning_rate_(learning_rate) {}

Callbacks::Callbacks(const Configuration& values) {
  for (const auto& callback : values.callbacks) {
    std::visit([&](const auto& options) { watchers_.emplace_back(options); }, callback.value);
  }
  if (values.checkpoint.save_best) watchers_.emplace_back(*values.checkpoint.save_best);
  if (values.optimizer) learning_rate_ = learning_rate_at(learning_rates_of(*values.optimizer).front(), 1);
}

std::vector<std::string> Callbacks::names() const {
  std::vector<std::string> names;
  for (const Watcher& watcher : watchers_) {
    const WatchedMetric& watched = watched_by(watcher);
    names.push_back(
        fmt::format("{} of {} ({})", name_of(watcher), watched.text(), watched.less_is_better() ? "min" : "max"));
  }
  if (keeper() < watchers_.size()) names[keeper()] += ", restored";
  return names;
}

std::size_t Callbacks::keeper() const {
  const auto keeps = [](const Watcher& watcher) {
    const auto* const stopping = std::get_if<EarlyStopping>(&watcher);
    return stopping != nullptr && stopping->restore_best;
  };
  const auto last = std::find_if(watchers_.rbegin(), watchers_.rend(), keeps);
  return last == watchers_.rend() ? watchers_.size() : static_cast<std::size_t>(watchers_.rend() - last) - 1;
}

std::vector<report::CallbackEvent> Callbacks::end_epoch(const report::EpochEvent& epoch, CallbackState& state) const {
  state.watches.resize(watchers_.size());
  std::vector<report::CallbackEvent> events;
  for (std::size_t i = 0; i < watchers_.size(); ++i) {
    const WatchedMetric& watched = watched_by(watchers_[i]);
    WatchState& watch = state.watches[i];
    const EpochEnd end{epoch.epoch, value_of(watched, epoch), learning_rate_};
    const bool reports =
        std::visit([&](const auto& options) { return look(options, end, watch, state); }, watchers_[i]);
    if (reports) {
      report::CallbackEvent& event = events.emplace_back(event_of(name_of(watchers_[i]), watched, watch));
      event.step = epoch.step;
      event.epoch = epoch.epoch;
      if (!watch.stopped) event.learning_rate = state.learning_rate_from(learning_rate_);
    }
    if (i == keeper()) state.kept_epoch = watch.best_epoch;
  }
  return events;
}

/// A longer patience in a resumed run lets it continue.
bool Callbacks::stops(const CallbackState& state) const {
  for (std::size_t i = 0; i < std::min(watchers_.size(), state.watches.size()); ++i) {
    const auto* const stopping = std::get_if<EarlyStopping>(&watchers_[i]);
    if (stopping != nullptr && state.watches[i].stopped && state.watches[i].waited >= stopping->patience) return true;
  }
  return false;
}

bool Callbacks::saves_best(const CallbackState& state, std::int64_t epoch) const {
  return !watchers_.empty() && std::holds_alternative<SaveBest>(watchers_.back()) &&
         state.watches.back().best_epoch == epoch;
}

report::CallbackEvent Callbacks::restored(const CallbackState& state) const {
  return event_of("restore_best", watched_by(watchers_.at(keeper())), state.watches.at(keeper()));
}

std::string text_of(const report::CallbackEvent& event) {
  const std::string watched = (event.split == "train" ? "training " : "validation ") + event.metric;
  const std::string best = event.best ? report::score_text(*event.best) : "-";
  if (event.callback == "restore_best") {
    return fmt::format("the run ends with the weights of epoch {}, the best by {} ({})", event.best_epoch, watched,
                       best);
  }
  const std::string does = event.learning_rate
                               ? fmt::format("sets the learning rate to {}", static_cast<float>(*event.learning_rate))
                               : "ends the training";
  return fmt::format("epoch {}: {} {}: {} has not improved since epoch {} ({})", event.epoch, event.callback, does,
                     watched, event.best_epoch, best);
}

}  // namespace mirrortrain
