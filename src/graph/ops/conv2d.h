#pragma once

#include <array>

#include "graph/graph.h"
#include "graph/ops/activation_kind.h"
#include "graph/ops/window.h"

namespace mirrortrain::ops {

struct Conv2dAttributes {
  std::array<std::int64_t, 2> strides{1, 1};
  std::array<std::int64_t, 2> dilation_rate{1, 1};
  Padding padding = Padding::kValid;
  std::int64_t groups = 1;
};

/// activation(conv(x, kernel) + bias), channels last.
/// Inputs: x batched [height, width, in] float32 or bfloat16; kernel [kh, kw, in / groups, out] float32; bias [out]
/// float32 or absent. Output: batched [height', width', out] in x's dtype. `activation` must be one whose
/// derivative_from_output.
struct Conv2d : Op, Conv2dAttributes {
  ActivationKind activation = ActivationKind::kLinear;
  explicit Conv2d(const Conv2dAttributes& attributes, ActivationKind kind = ActivationKind::kLinear)
      : Conv2dAttributes(attributes), activation(kind) {}
  std::string_view name() const override { return "conv2d"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: gradient of the (linear) output; kernel. Output: gradient of x, batched `input_shape`. As a forward op it is
/// the transposed convolution.
struct Conv2dInputGradient : Op, Conv2dAttributes {
  Shape input_shape;
  Conv2dInputGradient(const Conv2dAttributes& attributes, Shape input)
      : Conv2dAttributes(attributes), input_shape(std::move(input)) {}
  std::string_view name() const override { return "conv2d_input_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: x; gradient of the (linear) output. Outputs: kernel gradient [kh, kw, in / groups, out] float32; bias
/// gradient [out] float32 (only where `with_bias`). Zero rows give zeros.
struct Conv2dWeightGradient : Op, Conv2dAttributes {
  Shape kernel_shape;
  bool with_bias = true;
  Conv2dWeightGradient(const Conv2dAttributes& attributes, Shape kernel, bool bias)
      : Conv2dAttributes(attributes), kernel_shape(std::move(kernel)), with_bias(bias) {}
  std::string_view name() const override { return "conv2d_weight_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

}  // namespace mirrortrain::ops
