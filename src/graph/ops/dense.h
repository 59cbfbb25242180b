#pragma once

#include <optional>

#include "graph/graph.h"
#include "graph/ops/activation_kind.h"

namespace mirrortrain::ops {

/// activation(x · kernel + bias) on the last axis.
/// Inputs: x batched [..., in] float32 or bfloat16; kernel [in, out] float32; bias [out] float32 or absent.
/// Output: batched [..., out] in x's dtype. `activation` must be one whose derivative_from_output.
struct Dense : Op {
  ActivationKind activation = ActivationKind::kLinear;
  explicit Dense(ActivationKind kind = ActivationKind::kLinear) : activation(kind) {}
  std::string_view name() const override { return "dense"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// dy · kernel^T; also the forward op of a layer that multiplies by another layer's transposed weight.
/// Inputs: gradient of the (linear) output, batched [..., out]; kernel [in, out]. Output: gradient of x, batched [...,
/// in].
struct DenseInputGradient : Op {
  std::string_view name() const override { return "dense_input_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: x batched [..., in]; gradient of the (linear) output, batched [..., out].
/// Outputs: kernel gradient [in, out] float32; bias gradient [out] float32 (only where `with_bias`). Zero rows give
/// zeros.
struct DenseWeightGradient : Op {
  bool with_bias = true;
  explicit DenseWeightGradient(bool bias) : with_bias(bias) {}
  std::string_view name() const override { return "dense_weight_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  /// Of the kernel's gradient alone.
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// The matrices of which a value is the product x^T dy over all rows.
struct Factors {
  ValueId x = kNoValue, dy = kNoValue;
};
/// Those of a DenseWeightGradient's kernel gradient; nullopt for other values, as for the sum of several uses'.
std::optional<Factors> factors_of(const Graph& graph, ValueId gradient);

}  // namespace mirrortrain::ops
