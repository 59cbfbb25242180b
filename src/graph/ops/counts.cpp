#include "graph/ops/counts.h"

#include "graph/ops/checks.h"

namespace mirrortrain::ops {
namespace {

std::vector<ValueSpec> counts(const Op& op, std::span<const ValueSpec> inputs, std::int64_t rows,
                              std::int64_t columns) {
  expect_targets(op.name(), inputs[1].dtype == DType::kInt32, inputs);
  has_mask(op.name(), inputs, 2);
  return {{DType::kFloat64, {rows, columns}, false}};
}

}  // namespace

std::vector<ValueSpec> BinCounts::infer(std::span<const ValueSpec> inputs) const {
  return counts(*this, inputs, binning.by_class ? 2 * inputs[0].shape.back() : 2,
                std::int64_t{binning.thresholds.count} + 1);
}

std::vector<ValueSpec> ClassCounts::infer(std::span<const ValueSpec> inputs) const {
  return counts(*this, inputs, inputs[0].shape.back(), 3);
}

std::vector<ValueSpec> SquareSums::infer(std::span<const ValueSpec> inputs) const {
  return counts(*this, inputs, inputs[0].shape.back(), 4);
}

}  // namespace mirrortrain::ops
