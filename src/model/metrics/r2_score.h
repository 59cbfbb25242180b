#pragma once

#include <string_view>

#include "config/section.h"
#include "model/losses.h"
#include "model/metrics/metric_node.h"

namespace mirrortrain::metrics {

/// The coefficient of determination: 1 - sum (label - output)^2 / sum (label - mean label)^2, the mean over the
/// outputs. 0 for an output whose labels are all the same, as in Keras.
struct R2Score {
  static constexpr std::string_view kName = "r2_score";
  static constexpr std::string_view kAliases = "r2";

  /// Throws Error where the labels are class numbers.
  MetricNode node(const Loss& loss, const Shape& output) const;

  static config::Section<R2Score> section();
};

}  // namespace mirrortrain::metrics
