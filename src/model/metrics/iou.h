#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "config/section.h"
#include "model/losses.h"
#include "model/losses/loss_common.h"
#include "model/metrics/metric_node.h"

// Intersection over union: positions that are of a class and predicted as it, among those that are either; the mean
// over classes, of which one with neither does not count. The class with the largest output is predicted.
namespace mirrortrain::metrics {

/// What all of them have. Keras's options for labels and predictions that are class numbers may only say what is so.
struct IouCommon : losses::LastAxis {
  std::optional<std::int64_t> ignore_class;
  std::optional<bool> sparse_y_true, sparse_y_pred;

  /// Positions whose label is ignore_class do not count; kNoValue: all do.
  ValueId mask(Graph& graph, ValueId labels) const;

  static config::Section<IouCommon> section();

 protected:
  /// `targets`: the classes; empty: all. Throws Error where options do not match the output or the labels.
  MetricNode of_classes(std::optional<std::int64_t> num_classes, const std::vector<std::int64_t>& targets,
                        const Loss& loss, const Shape& output) const;
};

struct Iou : IouCommon {
  static constexpr std::string_view kName = "iou";
  std::optional<std::int64_t> num_classes;
  std::vector<std::int64_t> target_class_ids;

  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<Iou> section();
};

struct MeanIou : IouCommon {
  static constexpr std::string_view kName = "mean_iou";
  static constexpr std::string_view kAliases = "miou, jaccard, jaccard_index";
  std::optional<std::int64_t> num_classes;

  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<MeanIou> section();
};

struct OneHotIou : IouCommon {
  static constexpr std::string_view kName = "one_hot_iou";
  std::optional<std::int64_t> num_classes;
  std::vector<std::int64_t> target_class_ids;

  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<OneHotIou> section();
};

struct OneHotMeanIou : IouCommon {
  static constexpr std::string_view kName = "one_hot_mean_iou";
  std::optional<std::int64_t> num_classes;

  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<OneHotMeanIou> section();
};

/// Of outputs that are each true or false: class 1 is predicted from the threshold on.
struct BinaryIou {
  static constexpr std::string_view kName = "binary_iou";
  std::vector<std::int64_t> target_class_ids{0, 1};
  std::optional<double> threshold;

  MetricNode node(const Loss& loss, const Shape& output) const;
  static config::Section<BinaryIou> section();
};

}  // namespace mirrortrain::metrics
