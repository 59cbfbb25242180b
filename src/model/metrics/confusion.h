#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "config/section.h"
#include "model/losses.h"
#include "model/metrics/metric_node.h"

// Metrics of predicted against true labels, as in Keras. Labels count as true above 0; class numbers count as one
// output for each class.
namespace mirrortrain::metrics {

/// The share of positive predictions that are correct, over all outputs.
struct Precision {
  static constexpr std::string_view kName = "precision";
  double threshold = 0.5;

  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<Precision> section();
};

/// The share of the true labels that are predicted, over all outputs.
struct Recall {
  static constexpr std::string_view kName = "recall";
  double threshold = 0.5;

  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<Recall> section();
};

/// How per-class scores are averaged.
enum class Average : std::uint8_t {
  kMacro,     ///< the mean over classes
  kMicro,     ///< computed from all classes' counts together
  kWeighted,  ///< the mean over classes, weighted by their true labels
};

/// The harmonic mean of precision and recall. A class is predicted above the threshold; without a threshold, if its
/// output is the largest, or a single output above 0.5.
struct F1Score {
  static constexpr std::string_view kName = "f1_score";
  static constexpr std::string_view kAliases = "f1";
  Average average = Average::kMacro;
  std::optional<double> threshold;

  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<F1Score> section();
};

/// The mean over classes of intersection over union: positions that are of a class and predicted as it, among those
/// that are either. A class with neither does not count. The class with the largest output is predicted.
struct MeanIou {
  static constexpr std::string_view kName = "mean_iou";
  static constexpr std::string_view kAliases = "iou";
  std::optional<std::int64_t> num_classes;

  /// Throws Error if the output has another number of classes, or only one.
  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<MeanIou> section();
};

}  // namespace mirrortrain::metrics

template <>
struct mirrortrain::config::EnumNames<mirrortrain::metrics::Average> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::metrics::Average>>({
      {"macro", mirrortrain::metrics::Average::kMacro},
      {"micro", mirrortrain::metrics::Average::kMicro},
      {"weighted", mirrortrain::metrics::Average::kWeighted},
  });
};
