#pragma once

#include "graph/graph.h"

namespace mirrortrain::ops {

enum class MetricKind : std::uint8_t {
  kBinaryAccuracy,                 ///< share of elements where (y > threshold) == target
  kSignAccuracy,                   ///< share of elements where (y > 0) == (target > 0)
  kCategoricalAccuracy,            ///< argmax of y == argmax of the targets (first of equals)
  kSparseCategoricalAccuracy,      ///< argmax of y == label
  kTopKCategoricalAccuracy,        ///< fewer than k outputs are larger than that of the targets' argmax
  kSparseTopKCategoricalAccuracy,  ///< fewer than k outputs are larger than the label's
  kMeanSquaredError,
  kMeanAbsoluteError,
  kOutput,  ///< mean of y; targets are like y, and not read
};

/// A metric as a sum over rows of per-row means, so that sum / rows is the metric.
/// Inputs: y batched [..., k] float32; targets as the loss has them; an optional mask. Output: the sum over rows,
/// float64 []; with a mask float64 [2]: the sum over the positions that count, and their number.
struct Metric : Op {
  MetricKind kind;
  float threshold = 0.5f;  ///< for kBinaryAccuracy; 0 for logits
  std::int64_t k = 5;      ///< of the top k accuracies
  explicit Metric(MetricKind which, float t = 0.5f) : kind(which), threshold(t) {}
  std::string_view name() const override { return "metric"; }
  bool reads_class_numbers() const {
    return kind == MetricKind::kSparseCategoricalAccuracy || kind == MetricKind::kSparseTopKCategoricalAccuracy;
  }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

}  // namespace mirrortrain::ops
