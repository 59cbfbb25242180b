#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "model/metrics/accuracy.h"
#include "model/metrics/auc.h"
#include "model/metrics/confusion.h"
#include "model/metrics/formula.h"
#include "model/metrics/mean_errors.h"
#include "model/metrics/r2_score.h"

namespace mirrortrain {

/// The list of metrics. To add one: a file in model/metrics and a line here.
using Metric = std::variant<metrics::Accuracy, metrics::TopKAccuracy, metrics::MeanSquaredError,
                            metrics::MeanAbsoluteError, metrics::Precision, metrics::Recall, metrics::F1Score,
                            metrics::Auc, metrics::MeanIou, metrics::R2Score, metrics::Formula>;

/// Throws Error if the metric does not match the loss or the output's shape.
inline MetricNode metric_node(const Metric& metric, const Loss& loss, const Shape& output) {
  return std::visit([&](const auto& options) { return options.node(loss, output); }, metric);
}

/// What its op reads, by default the output and its labels. Throws Error where they do not fit.
inline std::vector<ValueId> metric_inputs(const Metric& metric, Graph& graph, ValueId output, ValueId labels) {
  const auto* const formula = std::get_if<metrics::Formula>(&metric);
  return formula != nullptr ? formula->inputs(graph, output, labels) : std::vector<ValueId>{output, labels};
}

/// In events and files; a type listed again is numbered.
inline std::string_view name_of(const Metric& metric) {
  const auto* const formula = std::get_if<metrics::Formula>(&metric);
  return formula != nullptr ? formula->name : std::visit([](const auto& options) { return options.kName; }, metric);
}

/// Whether it compares predicted classes, rather than numbers with a distance from the labels.
inline bool is_of_classes(const Metric& metric) {
  return !std::holds_alternative<metrics::MeanSquaredError>(metric) &&
         !std::holds_alternative<metrics::MeanAbsoluteError>(metric) &&
         !std::holds_alternative<metrics::R2Score>(metric) && !std::holds_alternative<metrics::Formula>(metric);
}

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Metric> {
  static constexpr std::string_view noun = "a metric";
  static constexpr auto advice = std::to_array<Advice>(
      {{"loss", "every run reports its loss; leave it out"},
       {"val_loss", "every run with data.validation reports its loss there; leave it out"},
       {"confusion_matrix", "eval and report.html show it of every model that predicts classes; leave it out"}});
};
