#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/section.h"
#include "model/losses.h"
#include "model/metrics/metric_node.h"

// Metrics of predicted against true labels at a threshold, as in Keras: over all outputs together. Labels count as true
// above 0; class numbers count as one output for each class.
namespace mirrortrain::metrics {

/// Above which probability an output is a positive prediction; null: 0.5. Keras takes a list too, of which a metric has
/// a value each; a metric here has one value.
using ThresholdOption = std::optional<std::variant<double, std::vector<double>>>;

/// How many of a kind there are.
struct Count {
  ThresholdOption thresholds;

  static config::Section<Count> section();
};

struct TruePositives : Count {
  static constexpr std::string_view kName = "true_positives";
  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<TruePositives> section();
};

struct TrueNegatives : Count {
  static constexpr std::string_view kName = "true_negatives";
  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<TrueNegatives> section();
};

struct FalsePositives : Count {
  static constexpr std::string_view kName = "false_positives";
  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<FalsePositives> section();
};

struct FalseNegatives : Count {
  static constexpr std::string_view kName = "false_negatives";
  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<FalseNegatives> section();
};

/// A share of the positive predictions or labels.
struct Share {
  std::optional<double> threshold;  ///< the same as `thresholds`, of which a file has one
  ThresholdOption thresholds;
  std::optional<std::int64_t> top_k, class_id;

  static config::Section<Share> section();
};

/// The share of positive predictions that are correct.
struct Precision : Share {
  static constexpr std::string_view kName = "precision";

  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<Precision> section();
};

/// The share of the true labels that are predicted.
struct Recall : Share {
  static constexpr std::string_view kName = "recall";
  static constexpr std::string_view kAliases = "sensitivity, true_positive_rate";

  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<Recall> section();
};

/// The threshold for a loss's outputs: the given one, or else 0.5, or 0 of hinge losses, whose outputs have signs and
/// are no probabilities.
float threshold_for(const Loss& loss, const std::optional<double>& given);

/// The number of a class as the op has it, -1 for none. Throws Error if the output has no such class.
std::int32_t class_for(const std::optional<std::int64_t>& class_id, const Shape& output);

/// "thresholds" of more than one item; empty if it is valid.
std::string more_than_one(const ThresholdOption& thresholds, std::string_view metric);

}  // namespace mirrortrain::metrics
