#pragma once

#include <array>
#include <string_view>

#include "config/section.h"
#include "model/losses.h"
#include "model/metrics/metric_node.h"

namespace mirrortrain::metrics {

struct MeanSquaredError {
  static constexpr std::string_view kName = "mean_squared_error";
  static constexpr std::string_view kAliases = "mse, mse_loss, l2_loss, l2";

  /// Throws Error where the labels are class numbers, which have no distance from an output.
  MetricNode node(const Loss& loss, const Shape& output) const;

  static config::Section<MeanSquaredError> section();
};

struct MeanAbsoluteError {
  static constexpr std::string_view kName = "mean_absolute_error";
  static constexpr std::string_view kAliases = "mae, l1_loss, l1";

  /// Throws Error where the labels are class numbers, which have no distance from an output.
  MetricNode node(const Loss& loss, const Shape& output) const;

  static config::Section<MeanAbsoluteError> section();
};

}  // namespace mirrortrain::metrics
