#pragma once

#include <array>
#include <optional>
#include <span>
#include <type_traits>

#include "model/activation.h"
#include "model/initializers.h"
#include "model/key_aliases.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"
#include "model/padding.h"
#include "model/regularizer.h"

namespace mirrortrain::layers {

/// The options of every convolution: how the kernel moves over the `kAxes` axes before the channels, and the bias and
/// activation.
template <std::size_t kAxes>
struct WindowOptions : LayerCommon {
  using Padding = std::conditional_t<kAxes == 1, SequencePadding, ops::Padding>;
  std::array<std::int64_t, kAxes> kernel_size = ops::filled<kAxes>(1);
  std::array<std::int64_t, kAxes> strides = ops::filled<kAxes>(1);
  Padding padding = Padding::kValid;
  std::array<std::int64_t, kAxes> dilation_rate = ops::filled<kAxes>(1);
  ActivationName activation = ActivationName::kLinear;
  bool use_bias = true;
  Initializer bias_initializer = initializers::Zeros{};
  std::optional<Regularizer> bias_regularizer;
  std::optional<Constraint> bias_constraint;

  static config::Section<WindowOptions> section();

  /// The convolution of `source`, without the activation. `bias` may be kNoValue.
  ValueId convolve(LayerBuilder& builder, ValueId source, ValueId kernel, ValueId bias, std::int64_t groups) const;

 protected:
  /// The bias, or kNoValue without one.
  ValueId bias(LayerBuilder& builder, std::int64_t filters) const {
    return use_bias ? builder.weight("bias", {filters}, bias_initializer, bias_regularizer, bias_constraint) : kNoValue;
  }
  bool is_causal() const {
    if constexpr (kAxes == 1) return padding == SequencePadding::kCausal;
    return false;
  }
  /// [kernel_size..., in, out].
  Shape kernel_shape(std::int64_t in, std::int64_t out) const;
};

inline constexpr std::int64_t kMostFilters = 1 << 20;

/// A convolution with one kernel from all channels to `filters`.
template <std::size_t kAxes>
struct ConvOptions : WindowOptions<kAxes> {
  std::int64_t filters = 1;
  Initializer kernel_initializer = initializers::GlorotUniform{};
  std::optional<Regularizer> kernel_regularizer;
  std::optional<Constraint> kernel_constraint;

  static config::Section<ConvOptions> section();
};

/// A convolution whose channels and filters may be split into groups: [..., in] -> [..., filters]; variables kernel
/// [..., in / groups, filters] and bias.
template <std::size_t kAxes>
struct Conv : ConvOptions<kAxes> {
  static constexpr std::string_view kName = by_axes<kAxes>("conv1d", "conv2d", "conv3d");
  static constexpr std::string_view kAliases = by_axes<kAxes>("convolution1d", "conv, convolution2d", "convolution3d");
  std::int64_t groups = 1;

  static config::Section<Conv> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// The gradient of a convolution with respect to its input, as a layer: [..., in] -> [..., filters], larger by the
/// strides; variables kernel [..., filters, in] and bias.
template <std::size_t kAxes>
struct ConvTranspose : ConvOptions<kAxes> {
  static constexpr std::string_view kName = by_axes<kAxes>("conv1d_transpose", "conv2d_transpose", "conv3d_transpose");
  static constexpr std::string_view kAliases =
      by_axes<kAxes>("conv_transpose1d", "conv_transpose2d", "conv_transpose3d");
  std::optional<std::array<std::int64_t, kAxes>> output_padding;

  static config::Section<ConvTranspose> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;

 private:
  /// The output's extents before the channels.
  std::array<std::int64_t, kAxes> enlarged(const Shape& input) const;
};

/// Convolves each channel with separate kernels: [..., in] -> [..., in depth_multiplier].
template <std::size_t kAxes>
struct DepthwiseOptions : WindowOptions<kAxes> {
  std::int64_t depth_multiplier = 1;
  Initializer depthwise_initializer = initializers::GlorotUniform{};
  std::optional<Regularizer> depthwise_regularizer;
  std::optional<Constraint> depthwise_constraint;

  static config::Section<DepthwiseOptions> section();

 protected:
  /// Before the activation; `name` is the kernel's, [..., in, depth_multiplier].
  ValueId depthwise(LayerBuilder& builder, ValueId source, std::string_view name, bool with_bias) const;
};

/// Variables kernel and bias.
template <std::size_t kAxes>
struct DepthwiseConv : DepthwiseOptions<kAxes> {
  static constexpr std::string_view kName = by_axes<kAxes>("depthwise_conv1d", "depthwise_conv2d", "");

  static config::Section<DepthwiseConv> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// A depthwise convolution, then a convolution of single positions to `filters`; variables depthwise_kernel,
/// pointwise_kernel [1..., in depth_multiplier, filters] and bias.
template <std::size_t kAxes>
struct SeparableConv : DepthwiseOptions<kAxes> {
  static constexpr std::string_view kName = by_axes<kAxes>("separable_conv1d", "separable_conv2d", "");
  std::int64_t filters = 1;
  Initializer pointwise_initializer = initializers::GlorotUniform{};
  std::optional<Regularizer> pointwise_regularizer;
  std::optional<Constraint> pointwise_constraint;

  static config::Section<SeparableConv> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
