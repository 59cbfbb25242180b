#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "config/section.h"
#include "model/losses.h"
#include "model/metrics/metric_node.h"

namespace mirrortrain::metrics {

enum class Curve : std::uint8_t { kRoc, kPr };

/// The area under a curve, approximated between thresholds as in Keras: of ROC by the trapezoidal rule, of precision
/// over recall by the interpolation of Davis and Goadrich (ICML 2006), which is not linear; over all outputs together.
struct Auc {
  static constexpr std::string_view kName = "auc";
  static constexpr std::string_view kAliases = "roc_auc, auroc";
  Curve curve = Curve::kRoc;
  std::int64_t num_thresholds = 200;

  /// Throws Error if the loss's outputs are not probabilities.
  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<Auc> section();
};

}  // namespace mirrortrain::metrics

template <>
struct mirrortrain::config::EnumNames<mirrortrain::metrics::Curve> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::metrics::Curve>>({
      {"ROC", mirrortrain::metrics::Curve::kRoc},
      {"PR", mirrortrain::metrics::Curve::kPr},
  });
};
