#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "config/section.h"
#include "model/losses.h"
#include "model/metrics/metric_node.h"

namespace mirrortrain::metrics {

/// How per-class scores are averaged.
enum class Average : std::uint8_t {
  kMacro,     ///< the mean over classes
  kMicro,     ///< computed from all classes' counts together
  kWeighted,  ///< the mean over classes, weighted by their true labels
};

/// A class is predicted above the threshold; without a threshold, if its output is the largest, or a single output
/// above 0.5.
struct FScore {
  Average average = Average::kMacro;
  std::optional<double> threshold;

  MetricNode of_beta(double beta, const Loss& loss, const Shape& output) const;

  static config::Section<FScore> section();
};

/// The harmonic mean of precision and recall.
struct F1Score : FScore {
  static constexpr std::string_view kName = "f1_score";
  static constexpr std::string_view kAliases = "f1";

  MetricNode node(const Loss& loss, const Shape& output) const { return of_beta(1, loss, output); }
  static config::Section<F1Score> section();
};

/// The same with a weight for recall.
struct FBetaScore : FScore {
  static constexpr std::string_view kName = "fbeta_score";
  static constexpr std::string_view kAliases = "fbeta, f_beta, f_beta_score, f2_score";
  double beta = 1;

  MetricNode node(const Loss& loss, const Shape& output) const { return of_beta(beta, loss, output); }
  static config::Section<FBetaScore> section();
};

}  // namespace mirrortrain::metrics

template <>
struct mirrortrain::config::EnumNames<mirrortrain::metrics::Average> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::metrics::Average>>({
      {"macro", mirrortrain::metrics::Average::kMacro},
      {"micro", mirrortrain::metrics::Average::kMicro},
      {"weighted", mirrortrain::metrics::Average::kWeighted},
  });
  static constexpr auto advice = std::to_array<Advice>(
      {{"null, none", "a metric has one value; `eval` shows the scores of every class; take average: macro"}});
};
