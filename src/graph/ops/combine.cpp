#include "graph/ops/combine.h"

#include <algorithm>

#include "graph/ops/checks.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/mask.h"
#include "graph/ops/pointwise.h"

namespace mirrortrain::ops {
namespace {

void expect_operands(std::string_view op, const ValueSpec& a, const ValueSpec& b) {
  expect(a.batched && is_float(a.dtype), op, "a batched float32 or bfloat16 tensor", a);
  const DType dtype = b.batched ? a.dtype : DType::kFloat32;
  expect(b.dtype == dtype && b.shape.rank() == a.shape.rank(), op,
         fmt::format("{} of {} axes beside {}", name_of(dtype), a.shape.rank(), text_of(a)), b);
}

/// Throws Error unless x's axes become those of `target` where some are reduced to 1.
void expect_reducible(std::string_view op, const ValueSpec& x, const Shape& target) {
  bool fits = x.shape.rank() == target.rank();
  for (std::size_t axis = 0; fits && axis < target.rank(); ++axis) {
    fits = target[axis] == 1 || target[axis] == x.shape[axis];
  }
  expect(fits, op, fmt::format("a shape that is reduced to {}", target.text()), x);
}

}  // namespace

Shape with_rank(const Shape& shape, std::size_t rank) {
  std::vector<std::int64_t> dims(rank - shape.rank(), 1);
  dims.insert(dims.end(), shape.begin(), shape.end());
  return Shape(std::move(dims));
}

std::optional<Shape> common_shape(const Shape& a, const Shape& b) {
  const std::size_t rank = std::max(a.rank(), b.rank());
  Shape both = with_rank(a, rank);
  const Shape other = with_rank(b, rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (both[axis] == 1) both[axis] = other[axis];
    if (other[axis] != both[axis] && other[axis] != 1) return std::nullopt;
  }
  return both;
}

Shape stretched(std::string_view op, const Shape& a, const Shape& b) {
  if (std::optional<Shape> shape = common_shape(a, b)) return *std::move(shape);
  throw Error(
      fmt::format("{}: expected shapes that are equal, or 1, in every axis; found {} and {}", op, a.text(), b.text()));
}

std::string_view Combine::name() const {
  switch (kind) {
    case CombineKind::kAdd: return "add";
    case CombineKind::kMultiply: return "multiply";
    case CombineKind::kMaximum: return "maximum";
    case CombineKind::kMinimum: break;
  }
  return "minimum";
}

std::vector<ValueSpec> Combine::infer(std::span<const ValueSpec> inputs) const {
  expect_operands(name(), inputs[0], inputs[1]);
  return {{inputs[0].dtype, stretched(name(), inputs[0].shape, inputs[1].shape), true}};
}

std::vector<ValueId> Combine::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                       const std::vector<bool>& wanted) const {
  std::vector<ValueId> gradients(2, kNoValue);
  const ValueId dy = output_gradients[0];
  if (dy == kNoValue) return gradients;
  for (const std::size_t i : {0, 1}) {
    if (!wanted[i]) continue;
    ValueId term = dy;
    if (kind == CombineKind::kMultiply) term = graph.apply_one(Combine(kind), {dy, node.inputs[1 - i]});
    if (kind == CombineKind::kMaximum || kind == CombineKind::kMinimum) {
      term = graph.apply_one(ChoiceGradient(kind, i == 0), {dy, node.inputs[0], node.inputs[1]});
    }
    gradients[i] = summed_to(graph, term, node.inputs[i]);
  }
  return gradients;
}

std::vector<ValueSpec> ChoiceGradient::infer(std::span<const ValueSpec> inputs) const {
  expect_operands(name(), inputs[1], inputs[2]);
  expect_same(name(), "the output's gradient",
              {inputs[1].dtype, stretched(name(), inputs[1].shape, inputs[2].shape), true}, inputs[0]);
  return {inputs[0]};
}

std::vector<ValueSpec> SumTo::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec& x = inputs[0];
  expect(x.batched ? is_float(x.dtype) : x.dtype == DType::kFloat32 && !per_row, name(),
         "float32 or bfloat16 per row, or float32 that is summed without rows", x);
  expect_reducible(name(), x, target);
  return {{per_row ? x.dtype : DType::kFloat32, target, per_row}};
}

std::vector<ValueId> SumTo::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                     const std::vector<bool>& wanted) const {
  const ValueId x = node.inputs[0];
  const ValueSpec spec = graph.spec(x);
  if (output_gradients[0] == kNoValue || !wanted[0]) return {kNoValue};
  if (!spec.batched) {
    PointwiseFunction spread(2);
    spread.set_result(spread.input(1));
    return {graph.apply_one(Pointwise(spread, spec.dtype), {x, output_gradients[0]})};
  }
  ValueId ones = graph.apply_one(FullMask(spec.shape), {x});
  if (graph.spec(ones).dtype != spec.dtype) ones = graph.apply_one(Cast(spec.dtype), {ones});
  return {graph.apply_one(Combine(CombineKind::kMultiply), {ones, output_gradients[0]})};
}

std::vector<ValueSpec> MaxTo::infer(std::span<const ValueSpec> inputs) const {
  expect(inputs[0].batched && is_float(inputs[0].dtype), name(), "a batched float32 or bfloat16 tensor", inputs[0]);
  expect_reducible(name(), inputs[0], target);
  return {{inputs[0].dtype, target, true}};
}

std::vector<ValueId> MaxTo::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                     const std::vector<bool>& wanted) const {
  if (!differentiated || !flows(output_gradients, wanted)) return {kNoValue};
  const ValueId x = node.inputs[0];
  const DType dtype = graph.spec(x).dtype;
  PointwiseFunction is_largest(2), share(3);
  is_largest.set_result(is_largest.apply(PointwiseCode::kEqual, is_largest.input(0), is_largest.input(1)));
  const auto part = share.apply(PointwiseCode::kDivide, share.input(1), share.input(2));
  share.set_result(share.apply(PointwiseCode::kChain, share.input(0), part));
  const ValueId largest = graph.apply_one(Pointwise(is_largest, dtype), {x, node.outputs[0]});
  const ValueId count = graph.apply_one(SumTo(target, true), {largest});
  return {graph.apply_one(Pointwise(share, dtype), {output_gradients[0], largest, count})};
}

std::vector<ValueSpec> Scale::infer(std::span<const ValueSpec> inputs) const {
  expect(is_float(inputs[0].dtype), name(), "float32 or bfloat16", inputs[0]);
  return {inputs[0]};
}

std::vector<ValueId> Scale::gradient(Graph& graph, const Node&, std::span<const ValueId> output_gradients,
                                     const std::vector<bool>& wanted) const {
  if (!wanted[0] || output_gradients[0] == kNoValue) return {kNoValue};
  return {graph.apply_one(Scale(factor), {output_gradients[0]})};
}

}  // namespace mirrortrain::ops
