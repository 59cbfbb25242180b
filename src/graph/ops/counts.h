#pragma once

#include <vector>

#include "base/host_device.h"
#include "graph/graph.h"

// Sums over a batch from which metrics are made that are no means over examples, because they are no linear function of
// them: precision, the area under a curve. The sums of parts of a data set add up to those of the whole.
// Inputs of each: y batched [..., k] float32; targets float32 of the same shape or, as class numbers, int32 per
// position, which count as one for their class and zero for the others; an optional mask (mask.h): positions that do
// not count are left out.
namespace mirrortrain::ops {

/// Ascending numbers: the first, those that split [0, 1] into equal parts, and the last, or one alone.
struct Thresholds {
  float first, last;
  std::int32_t count;

  MIRRORTRAIN_HOST_DEVICE float operator[](std::int32_t i) const {
    if (i == 0) return first;
    return i == count - 1 ? last : static_cast<float>(i) / static_cast<float>(count - 1);
  }
};

/// How many elements of y lie between which thresholds. Output: float64 [2, b] with b = thresholds + 1; first those
/// whose target is not above 0, then the others; in bin i as many thresholds as i are below the element.
struct BinCounts : Op {
  static constexpr std::int64_t kMostThresholds = 1 << 14;
  Thresholds thresholds;
  explicit BinCounts(Thresholds of) : thresholds(of) {}
  std::string_view name() const override { return "bin_counts"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// Which classes a position predicts.
enum class Predicted : std::uint8_t {
  kLargest,  ///< those with the largest output, unless it is 0
  kFirst,    ///< the first of these; of float targets, too, the first of the largest is the class
  kAbove,    ///< those above the threshold
};

/// Output: float64 [k, 3], per class: the targets where it is predicted, how often it is predicted, the targets.
struct ClassCounts : Op {
  Predicted predicted;
  float threshold = 0;  ///< for kAbove
  explicit ClassCounts(Predicted how, float above = 0) : predicted(how), threshold(above) {}
  std::string_view name() const override { return "class_counts"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// Output: float64 [k, 3], per output: the targets, their squares, the squared distances of y and target.
struct SquareSums : Op {
  std::string_view name() const override { return "square_sums"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

}  // namespace mirrortrain::ops
