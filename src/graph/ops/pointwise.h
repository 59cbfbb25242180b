#pragma once

#include "graph/graph.h"
#include "graph/ops/pointwise_function.h"

namespace mirrortrain::ops {

/// A function of the elements of several tensors in one pass. Their shapes per row are broadcast as in NumPy: aligned
/// at the last axis, an axis of 1 or none is repeated. Inputs: float32 or bfloat16 with rows, all of as many axes;
/// float32 without rows, of as many axes or fewer. Output: of the broadcast shape, batched in `dtype` where an input
/// is, else float32 without rows. `pointwise` adds axes where they lack.
struct Pointwise : Op {
  /// Kernels take no more.
  static constexpr std::size_t kMostInputs = 8, kMostSteps = 144, kMostConstants = 48;

  PointwiseFunction function;
  DType dtype;
  /// Throws Error if the function is larger than what kernels take.
  Pointwise(PointwiseFunction of, DType type);
  std::string_view name() const override { return "pointwise"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// The function of values whose shapes are broadcast; at least one of them is batched. Throws Error where they do not
/// fit.
ValueId pointwise(Graph& graph, const PointwiseFunction& function, std::vector<ValueId> inputs, DType dtype);

/// The shape that shapes are broadcast to as in NumPy. Throws Error, naming both, where they do not fit.
Shape broadcast(const Shape& a, const Shape& b);

/// `gradient` summed over the axes that `value` was broadcast along, and over the rows that it has none
/// of: in the spec of `value`.
ValueId summed_to(Graph& graph, ValueId gradient, ValueId value);

}  // namespace mirrortrain::ops
