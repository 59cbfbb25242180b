#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "config/section.h"
#include "model/losses.h"
#include "model/metrics/metric_node.h"

// Metrics of what was predicted and what was right, as Keras has them. Labels count as true above 0; class numbers
// count as one output for each class.
namespace mirrortrain::metrics {

/// The share of the positive predictions that are right, over all outputs.
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

/// How classes become one figure.
enum class Average : std::uint8_t {
  kMacro,     ///< the mean over classes
  kMicro,     ///< of all classes' counts together
  kWeighted,  ///< the mean over classes, by how often each is right
};

/// The harmonic mean of precision and recall. A class is predicted above the threshold; without one where its output is
/// the largest, and a single output above 0.5.
struct F1Score {
  static constexpr std::string_view kName = "f1_score";
  Average average = Average::kMacro;
  std::optional<double> threshold;

  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<F1Score> section();
};

/// The mean over classes of intersection over union: positions that are of a class and predicted, among those that are
/// either. A class that is neither does not count. The largest output is predicted.
struct MeanIou {
  static constexpr std::string_view kName = "mean_iou";
  std::optional<std::int64_t> num_classes;

  /// Throws Error where the output has another number of classes, or only one.
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
