#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/ops/dense.h"

namespace mirrortrain::cuda {

/// The graph with gelu's approximation by tanh computed where a dense layer's matrix multiplications store their
/// results. Only in bfloat16: cuBLASLt does not say how exact its tanh is, and there it is rounded to 8 bits anyway.
/// The exact gelu is not among cuBLASLt's epilogues (CUBLASLT_EPILOGUE_GELU is the approximation) and keeps its own
/// pass.
Graph merge_gelu(const Graph& graph, const std::vector<ValueId>& outputs);

/// y = gelu_tanh(x · kernel + bias).
/// Inputs: Dense's. Outputs: y; gelu's input, spec as y (only where `keeps_input`).
struct DenseWithGelu : ops::Dense {
  bool keeps_input = false;
  explicit DenseWithGelu(bool keeps) : ops::Dense(ops::ActivationKind::kGeluTanh), keeps_input(keeps) {}
  std::string_view name() const override { return "dense_with_gelu"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// (dy · kernel^T) times the derivative of gelu_tanh.
/// Inputs: DenseInputGradient's; gelu's input, spec as the output. Output: the gradient of gelu's input.
struct DenseInputGradientOfGelu : ops::DenseInputGradient {
  std::string_view name() const override { return "dense_input_gradient_of_gelu"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

}  // namespace mirrortrain::cuda
