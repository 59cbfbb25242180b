#pragma once

#include "graph/graph.h"

namespace mirrortrain::ops {

/// Products of matrices, the last two axes of each example.
/// Inputs: a [..., n, k] and b [..., k, m], or transposed where so said, of as many axes; those before the last two are
/// equal, or 1 where they are broadcast. Batched in float32 or bfloat16, or without rows in float32.
/// Output: [..., n, m], batched in the batched input's dtype; without rows where neither has any.
struct MatMul : Op {
  bool transpose_a, transpose_b;
  explicit MatMul(bool transposed_a = false, bool transposed_b = false)
      : transpose_a(transposed_a), transpose_b(transposed_b) {}
  std::string_view name() const override { return "matmul"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

}  // namespace mirrortrain::ops
