#include "graph/ops/loss.h"

#include <algorithm>

#include "graph/ops/checks.h"
#include "graph/ops/mask.h"
#include "graph/ops/metric.h"

namespace mirrortrain::ops {
namespace {

/// Without trailing axes of 1, which do not change the elements' order or number.
std::vector<std::int64_t> trimmed(std::vector<std::int64_t> dims) {
  while (!dims.empty() && dims.back() == 1) dims.pop_back();
  return dims;
}

}  // namespace

std::vector<ValueSpec> Loss::infer(std::span<const ValueSpec> inputs) const {
  expect_targets(name(), reads_class_numbers(kind), inputs);
  if (inputs.size() > 2 && present(inputs[2])) {
    expect(inputs[2].batched && inputs[2].dtype == DType::kFloat32 && inputs[2].shape.elements() == 1, name(),
           "a weight as float32 [] per row", inputs[2]);
  }
  const bool masked = has_mask(name(), inputs, 3);
  if (inputs.size() > 4 && present(inputs[4])) {
    expect_same(name(), "the tokens that count", {DType::kFloat64, {}, false}, inputs[4]);
  }
  return {{DType::kFloat64, masked ? Shape{2} : Shape{}, false}, inputs[0]};
}

std::vector<ValueId> Loss::gradient(Graph&, const Node& node, std::span<const ValueId>,
                                    const std::vector<bool>& wanted) const {
  if (wanted[1] && kind != LossKind::kOutput)
    throw Error("loss: targets have no gradient; they cannot depend on trained variables");
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  if (wanted[0]) gradients[0] = node.outputs[1];
  return gradients;
}

void expect_targets(std::string_view op, bool class_numbers, std::span<const ValueSpec> inputs) {
  const ValueSpec &y = inputs[0], &targets = inputs[1];
  expect(y.batched && y.dtype == DType::kFloat32 && y.shape.rank() > 0, op, "predictions as float32 [..., k] per row",
         y);
  std::vector<std::int64_t> dims = y.shape.dims();
  if (class_numbers) dims.pop_back();
  const DType dtype = class_numbers ? DType::kInt32 : DType::kFloat32;
  expect(targets.batched && targets.dtype == dtype && trimmed(targets.shape.dims()) == trimmed(dims), op,
         fmt::format("targets as {} {} per row", name_of(dtype), Shape(dims).text()), targets);
}

bool has_mask(std::string_view op, std::span<const ValueSpec> inputs, std::size_t number) {
  if (inputs.size() <= number || !present(inputs[number])) return false;
  const Shape &y = inputs[0].shape, &mask = inputs[number].shape;
  const bool fits = mask.rank() < y.rank() && std::equal(mask.begin(), mask.end(), y.begin());
  expect(fits, op, fmt::format("a mask of the first axes of {}", y.text()), inputs[number]);
  expect_mask(op, mask, inputs[number]);
  return true;
}

std::vector<ValueSpec> Metric::infer(std::span<const ValueSpec> inputs) const {
  expect_targets(name(), reads_class_numbers(), inputs);
  return {{DType::kFloat64, has_mask(name(), inputs, 2) ? Shape{2} : Shape{}, false}};
}

}  // namespace mirrortrain::ops
