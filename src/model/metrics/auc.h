#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "config/section.h"
#include "graph/graph.h"
#include "model/losses.h"
#include "model/metrics/metric_node.h"

namespace mirrortrain::metrics {

enum class Curve : std::uint8_t { kRoc, kPr, kPrGain };

/// The height of the area between two thresholds.
enum class Summation : std::uint8_t {
  kInterpolation,  ///< the mean of both heights; for kPr that of Davis and Goadrich
  kMinoring,       ///< the lower one
  kMajoring,       ///< the higher one
};

/// The area under a curve, approximated between thresholds as in Keras: of ROC by the trapezoidal rule, of precision
/// over recall by the interpolation of Davis and Goadrich (ICML 2006), which is not linear; over all outputs together,
/// or the mean of those of each.
struct Auc {
  static constexpr std::string_view kName = "auc";
  static constexpr std::string_view kAliases = "roc_auc, auroc";
  Curve curve = Curve::kRoc;
  std::int64_t num_thresholds = 200;
  Summation summation_method = Summation::kInterpolation;
  std::vector<double> thresholds;  ///< empty: num_thresholds evenly spaced ones
  bool multi_label = false;
  std::optional<std::int64_t> num_labels;
  std::vector<double> label_weights;  ///< empty: all equal
  bool from_logits = false;

  /// Throws Error if the loss's outputs are not probabilities.
  MetricNode node(const Loss& loss, const Shape& output) const;
  /// What the op reads.
  std::vector<ValueId> inputs(Graph& graph, ValueId output, ValueId labels) const;
  static config::Section<Auc> section();
};

}  // namespace mirrortrain::metrics

template <>
struct mirrortrain::config::EnumNames<mirrortrain::metrics::Curve> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::metrics::Curve>>({
      {"ROC", mirrortrain::metrics::Curve::kRoc},
      {"PR", mirrortrain::metrics::Curve::kPr},
      {"PRGAIN", mirrortrain::metrics::Curve::kPrGain},
  });
};
template <>
struct mirrortrain::config::EnumNames<mirrortrain::metrics::Summation> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::metrics::Summation>>({
      {"interpolation", mirrortrain::metrics::Summation::kInterpolation},
      {"minoring", mirrortrain::metrics::Summation::kMinoring},
      {"majoring", mirrortrain::metrics::Summation::kMajoring},
  });
};
