#pragma once

#include <cstdint>
#include <string_view>

#include "config/section.h"
#include "model/losses.h"
#include "model/metrics/metric_node.h"

namespace mirrortrain::metrics {

/// The area under the ROC curve, by the trapezoidal rule between thresholds, as Keras approximates it; over all
/// outputs together.
struct Auc {
  static constexpr std::string_view kName = "auc";
  std::int64_t num_thresholds = 200;

  /// Throws Error where the loss's outputs are no probabilities.
  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<Auc> section();
};

}  // namespace mirrortrain::metrics
