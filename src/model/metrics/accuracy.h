#pragma once

#include <cstdint>
#include <string_view>

#include "config/section.h"
#include "model/losses.h"
#include "model/metrics/metric_node.h"

namespace mirrortrain::metrics {

/// How often predictions equal labels, interpreted by the loss: true above a probability of 0.5 (a logit of 0), or the
/// class with the largest output; for hinge the sign. For losses that are not crossentropies the output's shape
/// decides, as in Keras: a single output is true or false.
struct Accuracy {
  static constexpr std::string_view kName = "accuracy";
  static constexpr std::string_view kAliases = "acc, val_accuracy";

  MetricNode node(const Loss& loss, const Shape& output) const;

  static config::Section<Accuracy> section();
};

/// How often the label is among the k classes with the largest outputs.
struct TopKAccuracy {
  static constexpr std::string_view kName = "top_k_accuracy";
  static constexpr std::string_view kAliases = "top5, top_k, top5_accuracy";
  std::int64_t k = 5;

  /// Throws Error unless the output has more than k classes.
  MetricNode node(const Loss& loss, const Shape& output) const;

  static config::Section<TopKAccuracy> section();
};

// Keras's names of accuracies that fit one kind of labels.

/// How often an output above the threshold has a label of 1, or one below it a label of 0.
struct BinaryAccuracy {
  static constexpr std::string_view kName = "binary_accuracy";
  std::optional<double> threshold;

  /// Throws Error where the labels are class numbers.
  MetricNode node(const Loss& loss, const Shape& output) const;

  static config::Section<BinaryAccuracy> section();
};

struct CategoricalAccuracy {
  static constexpr std::string_view kName = "categorical_accuracy";

  /// Throws Error where the labels are class numbers.
  MetricNode node(const Loss& loss, const Shape& output) const;

  static config::Section<CategoricalAccuracy> section();
};

struct SparseCategoricalAccuracy {
  static constexpr std::string_view kName = "sparse_categorical_accuracy";

  /// Throws Error unless the labels are class numbers.
  MetricNode node(const Loss& loss, const Shape& output) const;

  static config::Section<SparseCategoricalAccuracy> section();
};

struct TopKCategoricalAccuracy {
  static constexpr std::string_view kName = "top_k_categorical_accuracy";
  std::int64_t k = 5;

  /// Throws Error where the labels are class numbers, and unless the output has more than k classes.
  MetricNode node(const Loss& loss, const Shape& output) const;

  static config::Section<TopKCategoricalAccuracy> section();
};

struct SparseTopKCategoricalAccuracy {
  static constexpr std::string_view kName = "sparse_top_k_categorical_accuracy";
  std::int64_t k = 5;

  /// Throws Error unless the labels are class numbers and the output has more than k classes.
  MetricNode node(const Loss& loss, const Shape& output) const;

  static config::Section<SparseTopKCategoricalAccuracy> section();
};

}  // namespace mirrortrain::metrics
