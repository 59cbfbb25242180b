#include "graph/ops/matmul.h"

#include "graph/ops/checks.h"
#include "graph/ops/combine.h"
#include "graph/ops/pointwise.h"

namespace mirrortrain::ops {

std::vector<ValueSpec> MatMul::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec &a = inputs[0], &b = inputs[1];
  const std::size_t axes = a.shape.rank();
  expect(is_float(a.dtype) && axes >= 2 && (a.batched || a.dtype == DType::kFloat32), name(),
         "matrices of float32, or of bfloat16 per row", a);
  expect(is_float(b.dtype) && b.shape.rank() == axes && (b.batched || b.dtype == DType::kFloat32) &&
             (a.batched != b.batched || a.dtype == b.dtype),
         name(), fmt::format("matrices that fit to {}", text_of(a)), b);
  const auto extent = [axes](const ValueSpec& of, bool transposed, std::size_t axis) {
    return of.shape[transposed ? 2 * axes - 3 - axis : axis];
  };
  expect(extent(a, transpose_a, axes - 1) == extent(b, transpose_b, axes - 2), name(),
         fmt::format("as many rows in b as columns in a, {}", text_of(a)), b);
  const ValueSpec& with_rows = b.batched && !a.batched ? b : a;
  Shape leading_a = a.shape, leading_b = b.shape;
  for (const std::size_t axis : {axes - 2, axes - 1}) leading_a[axis] = leading_b[axis] = 1;
  expect(with_rows.batched || leading_a == leading_b, name(),
         fmt::format("as many matrices as in a where neither has rows, {}", text_of(a)), b);
  ValueSpec y{with_rows.dtype, stretched(name(), leading_a, leading_b), with_rows.batched};
  y.shape[axes - 2] = extent(a, transpose_a, axes - 2);
  y.shape[axes - 1] = extent(b, transpose_b, axes - 1);
  return {y};
}

std::vector<ValueId> MatMul::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                      const std::vector<bool>& wanted) const {
  std::vector<ValueId> gradients(2, kNoValue);
  const ValueId a = node.inputs[0], b = node.inputs[1], dy = output_gradients[0];
  if (dy == kNoValue) return gradients;
  if (wanted[0]) {
    const ValueId da = transpose_a ? graph.apply_one(MatMul(transpose_b, true), {b, dy})
                                   : graph.apply_one(MatMul(false, !transpose_b), {dy, b});
    gradients[0] = summed_to(graph, da, a);
  }
  if (wanted[1]) {
    const ValueId db = transpose_b ? graph.apply_one(MatMul(true, transpose_a), {dy, a})
                                   : graph.apply_one(MatMul(!transpose_a, false), {a, dy});
    gradients[1] = summed_to(graph, db, b);
  }
  return gradients;
}

}  // namespace mirrortrain::ops
