#pragma once

#include <array>

#include "graph/graph.h"
#include "graph/ops/activation_kind.h"
#include "graph/ops/window.h"

namespace mirrortrain::ops {

/// Convolutions over images, [height, width, channels], and volumes, [depth, height, width, channels]: `kAxes` axes
/// before the channels.
template <std::size_t kAxes>
struct ConvAttributes {
  std::array<std::int64_t, kAxes> strides = filled<kAxes>(1);
  std::array<std::int64_t, kAxes> dilation_rate = filled<kAxes>(1);
  Padding padding = Padding::kValid;
  std::int64_t groups = 1;
};

/// activation(conv(x, kernel) + bias), channels last.
/// Inputs: x batched [height, width, in] float32 or bfloat16; kernel [kh, kw, in / groups, out] float32; bias [out]
/// float32 or absent. Output: batched [height', width', out] in x's dtype. Volumes have a depth before the height.
/// `activation` must be one whose derivative_from_output.
template <std::size_t kAxes>
struct Conv : Op, ConvAttributes<kAxes> {
  using Attributes = ConvAttributes<kAxes>;
  ActivationKind activation = ActivationKind::kLinear;
  explicit Conv(const Attributes& attributes, ActivationKind kind = ActivationKind::kLinear)
      : Attributes(attributes), activation(kind) {}
  std::string_view name() const override { return kAxes == 2 ? "conv2d" : "conv3d"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: gradient of the (linear) output; kernel. Output: gradient of x, batched `input_shape`. As a forward op it is
/// the transposed convolution.
template <std::size_t kAxes>
struct ConvInputGradient : Op, ConvAttributes<kAxes> {
  using Attributes = ConvAttributes<kAxes>;
  Shape input_shape;
  ConvInputGradient(const Attributes& attributes, Shape input)
      : Attributes(attributes), input_shape(std::move(input)) {}
  std::string_view name() const override { return kAxes == 2 ? "conv2d_input_gradient" : "conv3d_input_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: x; gradient of the (linear) output. Outputs: kernel gradient [kh, kw, in / groups, out] float32; bias
/// gradient [out] float32 (only where `with_bias`). Zero rows give zeros.
template <std::size_t kAxes>
struct ConvWeightGradient : Op, ConvAttributes<kAxes> {
  using Attributes = ConvAttributes<kAxes>;
  Shape kernel_shape;
  bool with_bias = true;
  ConvWeightGradient(const Attributes& attributes, Shape kernel, bool bias)
      : Attributes(attributes), kernel_shape(std::move(kernel)), with_bias(bias) {}
  std::string_view name() const override { return kAxes == 2 ? "conv2d_weight_gradient" : "conv3d_weight_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

using Conv2dAttributes = ConvAttributes<2>;
using Conv2d = Conv<2>;
using Conv2dInputGradient = ConvInputGradient<2>;
using Conv2dWeightGradient = ConvWeightGradient<2>;
using Conv3d = Conv<3>;
using Conv3dInputGradient = ConvInputGradient<3>;
using Conv3dWeightGradient = ConvWeightGradient<3>;

}  // namespace mirrortrain::ops
