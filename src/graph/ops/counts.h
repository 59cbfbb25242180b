#pragma once

#include <vector>

#include "base/host_device.h"
#include "graph/graph.h"

// Sums over a batch for metrics that are not means over examples, such as precision or the area under a curve. The sums
// of a data set's parts add up to those of the whole.
// Inputs of each: y batched [..., k] float32; targets float32 of the same shape or, as class numbers, int32 per
// position, which count as one for their class and zero for the others; an optional mask (mask.h): positions that do
// not count are left out.
namespace mirrortrain::ops {

/// Ascending numbers: `first`, those that split [0, 1] into equal parts, and `last`; or only `first`; or all as listed.
struct Thresholds {
  static constexpr std::int32_t kMostListed = 256;
  float first, last;
  std::int32_t count;
  bool are_listed = false;
  float listed[kMostListed] = {};

  MIRRORTRAIN_HOST_DEVICE float operator[](std::int32_t i) const {
    if (are_listed) return listed[i];
    if (i == 0) return first;
    return i == count - 1 ? last : static_cast<float>(i) / static_cast<float>(count - 1);
  }
};

/// Which elements are counted where.
struct Binning {
  Thresholds thresholds;
  std::int32_t only_class = -1;  ///< if not negative, the elements of other classes do not count
  std::int32_t top_k = 0;        ///< if not 0, all but so many largest elements of a position are above no threshold
  bool by_class = false;
};

/// A histogram of y over the thresholds. Output: float64 [2, thresholds + 1]: first the elements whose target is not
/// above 0, then the others; bin i counts the elements that are above exactly i thresholds. Where it is `by_class`, [2
/// k, thresholds + 1]: the same for each class in turn.
struct BinCounts : Op {
  static constexpr std::int64_t kMostThresholds = 1 << 14;
  Binning binning;
  explicit BinCounts(const Thresholds& thresholds) : binning{thresholds} {}
  std::string_view name() const override { return "bin_counts"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// Which classes a position predicts.
enum class Predicted : std::uint8_t {
  kLargest,  ///< those with the largest output, unless it is 0
  kFirst,    ///< the first of these; for float targets, too, the class is the first largest one
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

/// Output: float64 [k, 4], per output: the targets, their squares, the squared distances of y and target, their number.
struct SquareSums : Op {
  std::string_view name() const override { return "square_sums"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

}  // namespace mirrortrain::ops
