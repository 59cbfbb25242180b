#pragma once

#include <string_view>
#include <variant>

#include "model/metrics/accuracy.h"
#include "model/metrics/auc.h"
#include "model/metrics/confusion.h"
#include "model/metrics/mean_errors.h"
#include "model/metrics/r2_score.h"

namespace mirrortrain {

/// The list of metrics. To add one: a file in model/metrics and a line here.
using Metric = std::variant<metrics::Accuracy, metrics::TopKAccuracy, metrics::MeanSquaredError,
                            metrics::MeanAbsoluteError, metrics::Precision, metrics::Recall, metrics::F1Score,
                            metrics::Auc, metrics::MeanIou, metrics::R2Score>;

/// Throws Error if the metric does not match the loss or the output's shape.
inline MetricNode metric_node(const Metric& metric, const Loss& loss, const Shape& output) {
  return std::visit([&](const auto& options) { return options.node(loss, output); }, metric);
}

inline std::string_view name_of(const Metric& metric) {
  return std::visit([](const auto& options) { return options.kName; }, metric);
}

/// Whether it compares predicted classes, rather than numbers with a distance from the labels.
inline bool is_of_classes(const Metric& metric) {
  return !std::holds_alternative<metrics::MeanSquaredError>(metric) &&
         !std::holds_alternative<metrics::MeanAbsoluteError>(metric) &&
         !std::holds_alternative<metrics::R2Score>(metric);
}

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Metric> {
  static constexpr std::string_view noun = "a metric";
};
