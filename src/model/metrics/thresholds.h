#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "model/losses.h"
#include "model/metrics/metric_node.h"

// Metrics from the counts at many thresholds, as in Keras: the best of one share where another is at least a bound.
namespace mirrortrain::metrics {

/// The negatives and positives that are predicted true at a threshold.
struct Above {
  double negatives = 0, positives = 0;
  double all() const { return negatives + positives; }
};

/// From the sums of ops::BinCounts, in descending order from the highest threshold, above which there is nothing.
/// Outputs below all thresholds, which probabilities never are, count at the lowest, as in Keras's curves.
std::vector<Above> above_thresholds(std::span<const double> sums);

struct AtBound {
  std::int64_t num_thresholds = 200;
  std::optional<std::int64_t> class_id;

  static config::Section<AtBound> section();
};

struct PrecisionAtRecall : AtBound {
  static constexpr std::string_view kName = "precision_at_recall";
  double recall = 0;

  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<PrecisionAtRecall> section();
};

struct RecallAtPrecision : AtBound {
  static constexpr std::string_view kName = "recall_at_precision";
  double precision = 0;

  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<RecallAtPrecision> section();
};

struct SensitivityAtSpecificity : AtBound {
  static constexpr std::string_view kName = "sensitivity_at_specificity";
  double specificity = 0;

  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<SensitivityAtSpecificity> section();
};

struct SpecificityAtSensitivity : AtBound {
  static constexpr std::string_view kName = "specificity_at_sensitivity";
  double sensitivity = 0;

  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<SpecificityAtSensitivity> section();
};

}  // namespace mirrortrain::metrics
