#include "graph/ops/arrange.h"

#include <algorithm>

#include "graph/ops/checks.h"

namespace mirrortrain::ops {
namespace {

void expect_axes(std::string_view op, const ValueSpec& x, std::size_t axes) {
  expect(is_float(x.dtype) && x.shape.rank() == axes, op, fmt::format("a float32 or bfloat16 tensor of {} axes", axes),
         x);
}

void expect_rows(std::string_view op, const ValueSpec& x, std::size_t axes) {
  expect(x.batched && is_float(x.dtype) && x.shape.rank() == axes, op,
         fmt::format("a batched float32 or bfloat16 tensor of {} axes", axes), x);
}

}  // namespace

std::vector<ValueSpec> Pad::infer(std::span<const ValueSpec> inputs) const {
  ValueSpec y = inputs[0];
  expect_axes(name(), y, before.size());
  for (std::size_t axis = 0; axis < before.size(); ++axis) y.shape[axis] += before[axis] + after[axis];
  return {y};
}

std::vector<ValueId> Pad::gradient(Graph& graph, const Node&, std::span<const ValueId> output_gradients,
                                   const std::vector<bool>& wanted) const {
  if (!flows(output_gradients, wanted)) return {kNoValue};
  return {graph.apply_one(Crop(before, after), {output_gradients[0]})};
}

std::vector<ValueSpec> Crop::infer(std::span<const ValueSpec> inputs) const {
  ValueSpec y = inputs[0];
  expect_axes(name(), y, before.size());
  for (std::size_t axis = 0; axis < before.size(); ++axis) {
    y.shape[axis] -= before[axis] + after[axis];
    expect(y.shape[axis] > 0, name(), fmt::format("more than {} elements in axis {}", before[axis] + after[axis], axis),
           inputs[0]);
  }
  return {y};
}

std::vector<ValueId> Crop::gradient(Graph& graph, const Node&, std::span<const ValueId> output_gradients,
                                    const std::vector<bool>& wanted) const {
  if (!flows(output_gradients, wanted)) return {kNoValue};
  return {graph.apply_one(Pad(before, after), {output_gradients[0]})};
}

std::vector<ValueSpec> FirstRows::infer(std::span<const ValueSpec> inputs) const {
  ValueSpec y = inputs[0];
  expect(!y.batched && y.shape.rank() > 0 && y.shape[0] >= rows, name(),
         fmt::format("one tensor with at least {} rows", rows), y);
  y.shape[0] = rows;
  return {y};
}

std::vector<ValueId> FirstRows::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                         const std::vector<bool>& wanted) const {
  if (!flows(output_gradients, wanted)) return {kNoValue};
  const Shape& all = graph.spec(node.inputs[0]).shape;
  const std::vector<std::int64_t> before(all.rank(), 0);
  std::vector<std::int64_t> after = before;
  after[0] = all[0] - rows;
  return {graph.apply_one(Pad(before, after), {output_gradients[0]})};
}

std::vector<ValueSpec> Concatenate::infer(std::span<const ValueSpec> inputs) const {
  ValueSpec y = inputs[0];
  expect(y.batched && is_float(y.dtype) && axis < y.shape.rank(), name(),
         fmt::format("a batched float32 or bfloat16 tensor with an axis {}", axis), y);
  for (const ValueSpec& input : inputs.subspan(1)) {
    ValueSpec expected = inputs[0];
    if (input.shape.rank() == expected.shape.rank()) expected.shape[axis] = input.shape[axis];
    expect_same(name(), "every input", expected, input);
    y.shape[axis] += input.shape[axis];
  }
  return {y};
}

std::vector<ValueId> Concatenate::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                           const std::vector<bool>& wanted) const {
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  const Shape all = graph.spec(node.outputs[0]).shape;
  std::int64_t before = 0;  // elements of the axis used by other inputs
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const std::int64_t own = graph.spec(node.inputs[i]).shape[axis];
    if (wanted[i] && output_gradients[0] != kNoValue) {
      const auto along_axis = [&](std::int64_t count) {
        std::vector<std::int64_t> counts(all.rank(), 0);
        counts.at(axis) = count;
        return counts;
      };
      gradients[i] =
          graph.apply_one(Crop(along_axis(before), along_axis(all[axis] - before - own)), {output_gradients[0]});
    }
    before += own;
  }
  return gradients;
}

std::vector<ValueSpec> Transpose::infer(std::span<const ValueSpec> inputs) const {
  expect_rows(name(), inputs[0], axes.size());
  ValueSpec y = inputs[0];
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (std::ranges::count(axes, axis) != 1) throw Error("transpose: expected every axis once");
    y.shape[axis] = inputs[0].shape[axes[axis]];
  }
  return {y};
}

std::vector<ValueId> Transpose::gradient(Graph& graph, const Node&, std::span<const ValueId> output_gradients,
                                         const std::vector<bool>& wanted) const {
  if (!flows(output_gradients, wanted)) return {kNoValue};
  std::vector<std::size_t> back(axes.size());
  for (std::size_t axis = 0; axis < axes.size(); ++axis) back[axes[axis]] = axis;
  return {graph.apply_one(Transpose(back), {output_gradients[0]})};
}

std::vector<ValueSpec> Flip::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec& x = inputs[0];
  expect(x.batched && is_float(x.dtype) && axis < x.shape.rank(), name(),
         fmt::format("a batched float32 or bfloat16 tensor with an axis {}", axis), x);
  return {x};
}

std::vector<ValueId> Flip::gradient(Graph& graph, const Node&, std::span<const ValueId> output_gradients,
                                    const std::vector<bool>& wanted) const {
  if (!flows(output_gradients, wanted)) return {kNoValue};
  return {graph.apply_one(Flip(axis), {output_gradients[0]})};
}

}  // namespace mirrortrain::ops
