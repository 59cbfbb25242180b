#include "report/page/run_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>

#include "report/event_lines.h"

namespace mirrortrain::report {
namespace {

using Json = nlohmann::ordered_json;
using Chart = RunCurve::Chart;

/// With more lanes, which a chart cannot distinguish, the mean and the largest share are drawn; of more layers, the
/// norm of all.
constexpr std::size_t kMostLanes = 8;

Scores scores_in(const Json& event) {
  Scores scores{number_in(event, "loss").value_or(std::numeric_limits<double>::quiet_NaN()), {}};
  const Json& metrics = structure_in(event, "metrics");
  for (auto metric = metrics.begin(); metrics.is_object() && metric != metrics.end(); ++metric) {
    if (const auto value = number_in(metrics, metric.key().c_str())) scores.metrics.emplace_back(metric.key(), *value);
  }
  return scores;
}

/// A state variable's value; NaN for a text, which JSON cannot express as a number; nullopt if undefined.
std::optional<double> state_value(const Json& reading) {
  const std::string text = text_in(reading, "value");
  if (!text.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto value = number_in(reading, "value");
  return value && std::isnan(*value) ? std::nullopt : value;
}

class Reader {
 public:
  void take(const Json& event) {
    const std::string kind = text_in(event, "event");
    const std::int64_t step = integer_in(event, "step");
    history_.step = std::max(history_.step, step);
    history_.epoch = std::max(history_.epoch, integer_in(event, "epoch"));
    history_.seconds = std::max(history_.seconds, number_in(event, "seconds").value_or(0));
    history_.end.reset();  // the run was resumed after it
    const auto x = static_cast<double>(step);
    if (kind == "step") take_step(x, event);
    if (kind == "epoch") take_epoch(x, event);
    if (kind == "callback") take_callback(step, event);
    if (kind == "end") take_end(step, event);
    if (kind == "evaluation") {
      history_.evaluations.push_back({text_in(event, "split"), step, integer_in(event, "examples"), scores_in(event)});
    }
  }

  /// Reads a line of the evaluator.
  void take_evaluation(const Json& event) {
    const std::string split = text_in(event, "split");
    if (split.empty()) return;
    add_scores(static_cast<double>(integer_in(event, "step")), event, split + " by the evaluator", true);
  }

  std::optional<std::int64_t> restored_epoch() const { return restored_epoch_; }

  /// In a second pass, because only the end says which epoch was restored.
  void take_restored(const Json& event) {
    if (text_in(event, "event") != "epoch" || integer_in(event, "epoch") != restored_epoch_) return;
    EpochScores& restored = history_.restored.emplace();
    restored.step = integer_in(event, "step");
    restored.training = scores_in(event);
    if (const Json& validation = structure_in(event, "validation"); !validation.empty()) {
      restored.validation = scores_in(validation);
    }
  }

  RunHistory finish(std::int64_t unreadable) {
    history_.unreadable_lines = unreadable;
    std::ranges::stable_sort(history_.curves, {}, &RunCurve::chart);
    return std::move(history_);
  }

 private:
  void add(Chart chart, const std::string& title, const std::string& series, bool of_epochs, double x, double y) {
    const auto [place, is_new] =
        places_.try_emplace(std::tuple(chart, title, series, of_epochs), history_.curves.size());
    if (is_new) history_.curves.push_back({chart, title, series, of_epochs, {}});
    history_.curves[place->second].curve.add(x, y);
  }

  void add_scores(double x, const Json& event, const std::string& series, bool of_epochs) {
    if (const auto loss = number_in(event, "loss")) add(Chart::kLoss, "loss", series, of_epochs, x, *loss);
    for (const auto& [name, value] : scores_in(event).metrics) add(Chart::kMetric, name, series, of_epochs, x, value);
  }

  void add_state(double x, const Json& event) {
    const Json& state = structure_in(event, "state");
    for (auto reading = state.begin(); state.is_object() && reading != state.end(); ++reading) {
      if (const auto value = state_value(*reading)) add(Chart::kState, "state", reading.key(), false, x, *value);
    }
  }

  void add_gradient_norms(double x, const Json& event) {
    const auto add_norm = [&](const std::string& series, double norm) {
      add(Chart::kGradientNorm, "gradient norm", series, false, x, norm);
    };
    const auto all = number_in(event, "gradient_norm");
    if (!all) return;
    add_norm("all layers", *all);
    const Json& layers = structure_in(event, "gradient_norms");
    if (!layers.is_object() || layers.size() > kMostLanes) return;
    for (auto layer = layers.begin(); layer != layers.end(); ++layer) {
      if (const auto norm = number_in(layers, layer.key().c_str())) add_norm(layer.key(), *norm);
    }
  }

  void add_waiting(double x, const Json& event) {
    const Json& lanes = structure_in(event, "waiting");
    double sum = 0, largest = 0;
    for (std::size_t lane = 0; lane < lanes.size() && lanes.is_array(); ++lane) {
      const double share = lanes[lane].is_number() ? lanes[lane].get<double>() : 0;
      sum += share;
      largest = std::max(largest, share);
      if (lanes.size() <= kMostLanes) add_share(x, fmt::format("device {}", lane), share);
    }
    if (lanes.size() > kMostLanes) {
      add_share(x, fmt::format("mean of {} devices", lanes.size()), sum / static_cast<double>(lanes.size()));
      add_share(x, "largest of a device", largest);
    }
    if (const Json& workers = structure_in(event, "waited_for"); workers.is_object() && workers.size() <= kMostLanes) {
      for (auto worker = workers.begin(); worker != workers.end(); ++worker) {
        if (worker->is_number()) add_share(x, "for " + worker.key(), worker->get<double>());
      }
    }
    if (const auto for_data = number_in(event, "waiting_for_data")) add_share(x, "for data", *for_data);
  }
  void add_share(double x, const std::string& series, double share) {
    add(Chart::kWaiting, "share of the time waiting", series, false, x, share);
  }

  void take_step(double x, const Json& event) {
    add_scores(x, event, "training", false);
    if (const auto rate = number_in(event, "learning_rate"))
      add(Chart::kLearningRate, "learning rate", "learning rate", false, x, *rate);
    if (const auto speed = number_in(event, "examples_per_second"))
      add(Chart::kExamplesPerSecond, "examples/s", "examples/s", false, x, *speed);
    add_gradient_norms(x, event);
    add_waiting(x, event);
    add_state(x, event);
  }

  void take_epoch(double x, const Json& event) {
    restored_epoch_.reset();  // the run was resumed after it
    history_.epochs.add(x, static_cast<double>(integer_in(event, "epoch")));
    add_scores(x, event, "training", true);
    add_scores(x, structure_in(event, "validation"), "validation", true);
  }

  void take_callback(std::int64_t step, const Json& event) {
    CallbackEvent& callback = history_.callbacks.emplace_back();
    callback.callback = text_in(event, "callback");
    callback.step = step;
    callback.epoch = integer_in(event, "epoch");
    callback.metric = text_in(event, "metric");
    callback.split = text_in(event, "split");
    callback.best = number_in(event, "best");
    callback.best_epoch = integer_in(event, "best_epoch");
    callback.learning_rate = number_in(event, "learning_rate");
    if (callback.callback == "restore_best") restored_epoch_ = callback.best_epoch;
  }

  void take_end(std::int64_t step, const Json& event) {
    EndEvent& end = history_.end.emplace();
    const std::string status = text_in(event, "status");
    end.status = status == "done"      ? EndEvent::Status::kDone
                 : status == "stopped" ? EndEvent::Status::kStopped
                                       : EndEvent::Status::kFailed;
    end.step = step;
    end.epoch = integer_in(event, "epoch");
    end.seconds = number_in(event, "seconds").value_or(0);
  }

  RunHistory history_;
  std::optional<std::int64_t> restored_epoch_;
  std::map<std::tuple<Chart, std::string, std::string, bool>, std::size_t> places_;
};

}  // namespace

const RunCurve* RunHistory::find(std::string_view title, std::string_view series, bool of_epochs) const {
  const auto found = std::ranges::find_if(curves, [&](const RunCurve& one) {
    return one.title == title && one.series == series && one.is_of_epochs == of_epochs;
  });
  return found == curves.end() ? nullptr : &*found;
}

RunHistory read_history(const std::filesystem::path& metrics, const std::filesystem::path& evaluations) {
  Reader reader;
  std::int64_t unreadable = for_each_event(metrics, [&](const Json& event) { reader.take(event); });
  if (reader.restored_epoch()) for_each_event(metrics, [&](const Json& event) { reader.take_restored(event); });
  if (std::filesystem::exists(evaluations)) {
    unreadable += for_each_event(evaluations, [&](const Json& event) { reader.take_evaluation(event); });
  }
  return reader.finish(unreadable);
}

}  // namespace mirrortrain::report
