#pragma once

#include <string_view>

#include "config/section.h"
#include "model/losses.h"
#include "model/metrics/metric_node.h"

namespace mirrortrain::metrics {

struct MeanSquaredError {
  static constexpr std::string_view kName = "mean_squared_error";

  /// Throws Error where the labels are class numbers, which have no distance from an output.
  MetricNode node(const Loss& loss, const Shape& output) const;

  static config::Section<MeanSquaredError> section() {
    return config::Section<MeanSquaredError>("Mean squared error: the mean of (output - label)^2.");
  }
};

struct MeanAbsoluteError {
  static constexpr std::string_view kName = "mean_absolute_error";

  /// Throws Error where the labels are class numbers, which have no distance from an output.
  MetricNode node(const Loss& loss, const Shape& output) const;

  static config::Section<MeanAbsoluteError> section() {
    return config::Section<MeanAbsoluteError>("Mean absolute error: the mean of |output - label|.");
  }
};

}  // namespace mirrortrain::metrics
