#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "config/section.h"
#include "model/losses.h"
#include "model/metrics/metric_node.h"

namespace mirrortrain::metrics {

/// How the scores of several outputs become one.
enum class Aggregation : std::uint8_t {
  kUniformAverage,
  kVarianceWeightedAverage,  ///< weighted by the variance of the output's labels
};

/// The coefficient of determination: 1 - sum (label - output)^2 / sum (label - mean label)^2, the mean over the
/// outputs. 0 for an output whose labels are all the same, as in Keras.
struct R2Score {
  static constexpr std::string_view kName = "r2_score";
  static constexpr std::string_view kAliases = "r2";
  static constexpr Compares kCompares = Compares::kNumbers;
  Aggregation class_aggregation = Aggregation::kUniformAverage;
  std::int64_t num_regressors = 0;

  /// Throws Error where the labels are class numbers.
  MetricNode node(const Loss& loss, const Shape& output) const;

  static config::Section<R2Score> section();
};

}  // namespace mirrortrain::metrics

template <>
struct mirrortrain::config::EnumNames<mirrortrain::metrics::Aggregation> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::metrics::Aggregation>>({
      {"uniform_average", mirrortrain::metrics::Aggregation::kUniformAverage},
      {"variance_weighted_average", mirrortrain::metrics::Aggregation::kVarianceWeightedAverage},
  });
  static constexpr auto advice =
      std::to_array<Advice>({{"null, none", "a metric has one value; take class_aggregation: uniform_average"}});
};
