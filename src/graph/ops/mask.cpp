#include "graph/ops/mask.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/ops/checks.h"
#include "graph/ops/combine.h"
#include "graph/ops/elementwise.h"

namespace mirrortrain::ops {

void expect_mask(std::string_view op, const Shape& shape, const ValueSpec& spec, bool may_be_absent) {
  if (may_be_absent && !present(spec)) return;
  expect_same(op, "the mask", {DType::kFloat32, shape, true}, spec);
}

ValueId both_masks(Graph& graph, ValueId one, ValueId other) {
  if (one == kNoValue || other == kNoValue) return one == kNoValue ? other : one;
  if (one == other) return one;
  if (graph.spec(one).shape.rank() < graph.spec(other).shape.rank()) std::swap(one, other);
  std::vector<std::int64_t> dims = graph.spec(other).shape.dims();
  dims.resize(graph.spec(one).shape.rank(), 1);
  const Shape shape(std::move(dims));
  if (graph.spec(other).shape != shape) other = graph.apply_one(Reshape(shape), {other});
  return graph.apply_one(Combine(CombineKind::kMultiply), {one, other});
}

bool is_of_padding(const Graph& graph, ValueId mask) {
  const NodeId producer = graph.value(mask).producer;
  if (producer < 0) return false;
  const Node& node = graph.node(producer);
  if (dynamic_cast<const PaddingMask*>(node.op.get()) != nullptr) return true;
  if (dynamic_cast<const FullMask*>(node.op.get()) != nullptr) return false;
  return std::ranges::all_of(node.inputs, [&](ValueId input) { return is_of_padding(graph, input); });
}

std::vector<ValueId> padded_numbers(const Graph& graph, ValueId mask) {
  const NodeId producer = graph.value(mask).producer;
  if (producer < 0) return {};
  const Node& node = graph.node(producer);
  if (dynamic_cast<const PaddingMask*>(node.op.get()) != nullptr) return {node.inputs[0]};
  std::vector<ValueId> numbers;
  for (const ValueId input : node.inputs) {
    for (const ValueId found : padded_numbers(graph, input)) {
      if (std::ranges::find(numbers, found) == numbers.end()) numbers.push_back(found);
    }
  }
  return numbers;
}

std::vector<ValueSpec> LabelMask::infer(std::span<const ValueSpec> inputs) const {
  expect(inputs[0].batched && inputs[0].dtype == DType::kInt32, name(), "class numbers as batched int32", inputs[0]);
  return {{DType::kFloat32, inputs[0].shape, true}};
}

std::vector<ValueSpec> PaddingMask::infer(std::span<const ValueSpec> inputs) const {
  expect(inputs[0].batched && inputs[0].dtype == DType::kFloat32, name(), "numbers as batched float32", inputs[0]);
  return {inputs[0]};
}

std::vector<ValueSpec> FullMask::infer(std::span<const ValueSpec> inputs) const {
  expect(inputs[0].batched, name(), "anything batched", inputs[0]);
  return {{DType::kFloat32, shape, true}};
}

std::vector<ValueSpec> MaskCount::infer(std::span<const ValueSpec> inputs) const {
  expect_mask(name(), inputs[0].shape, inputs[0]);
  return {{DType::kFloat64, {}, false}};
}

std::vector<ValueSpec> MaskedMean::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec& x = inputs[0];
  expect(x.batched && is_float(x.dtype) && x.shape.rank() == 2, name(),
         "[steps, channels] per row, float32 or bfloat16", x);
  expect_mask(name(), {x.shape[0]}, inputs[1]);
  return {{x.dtype, {x.shape[1]}, true}};
}

std::vector<ValueId> MaskedMean::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                          const std::vector<bool>& wanted) const {
  if (!flows(output_gradients, wanted)) return {kNoValue, kNoValue};
  return {graph.apply_one(MaskedMeanGradient(), {output_gradients[0], node.inputs[1]}), kNoValue};
}

std::vector<ValueSpec> MaskedMeanGradient::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec &dy = inputs[0], &mask = inputs[1];
  expect(dy.batched && is_float(dy.dtype) && dy.shape.rank() == 1, name(), "the gradient of [channels] per row", dy);
  expect(mask.shape.rank() == 1, name(), "a mask [steps] per row", mask);
  expect_mask(name(), mask.shape, mask);
  return {{dy.dtype, {mask.shape[0], dy.shape[0]}, true}};
}

std::vector<ValueSpec> Select::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec& chosen = present(inputs[1]) ? inputs[1] : inputs[2];
  expect(chosen.batched && is_float(chosen.dtype) && chosen.shape.rank() >= 1, name(),
         "[..., channels] per row, float32 or bfloat16", chosen);
  if (present(inputs[2])) expect_same(name(), "the value elsewhere", chosen, inputs[2]);
  expect_mask(name(), Shape({chosen.shape.begin(), chosen.shape.end() - 1}), inputs[0]);
  return {chosen};
}

std::vector<ValueId> Select::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                      const std::vector<bool>& wanted) const {
  const ValueId mask = node.inputs[0], dy = output_gradients[0];
  std::vector<ValueId> gradients{kNoValue, kNoValue, kNoValue};
  if (dy == kNoValue) return gradients;
  if (wanted[1]) gradients[1] = graph.apply_one(Select(), {mask, dy, kNoValue});
  if (wanted[2]) gradients[2] = graph.apply_one(Select(), {mask, kNoValue, dy});
  return gradients;
}

}  // namespace mirrortrain::ops
