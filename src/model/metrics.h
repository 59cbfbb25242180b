#pragma once

#include <array>
#include <string_view>
#include <variant>

#include "model/metrics/accuracy.h"
#include "model/metrics/mean_errors.h"

namespace mirrortrain {

/// The list of metrics. One more: a file in model/metrics and a line here.
using Metric =
    std::variant<metrics::Accuracy, metrics::TopKAccuracy, metrics::MeanSquaredError, metrics::MeanAbsoluteError>;

/// The node that sums the metric over rows. Throws Error where it does not fit the loss.
inline ops::Metric metric_op(const Metric& metric, const Loss& loss, const Shape& output) {
  return std::visit([&](const auto& options) { return options.op(loss, output); }, metric);
}

inline std::string_view name_of(const Metric& metric) {
  return std::visit([](const auto& options) { return options.kName; }, metric);
}

}  // namespace mirrortrain

template <>
struct mirrortrain::config::ChoiceTag<mirrortrain::Metric> {
  static constexpr std::string_view noun = "a metric";
  static constexpr auto planned =
      std::to_array<std::string_view>({"precision", "recall", "f1_score", "auc", "mean_iou", "r2_score"});
};
