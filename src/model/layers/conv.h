#pragma once

#include <span>

#include "model/key_aliases.h"
#include "model/layers/conv_options.h"

namespace mirrortrain::layers {

/// A convolution whose channels and filters may be split into groups.
template <std::size_t kAxes>
struct GroupedConv : ConvOptions<kAxes> {
  std::int64_t groups = 1;

  static config::Section<GroupedConv> section() {
    return config::Section<GroupedConv>("A convolution in groups.")
        .key("groups", &GroupedConv::groups, "Number of groups into which input channels and filters are split.",
             config::at_least(1), kGroupsAliases)
        .template include<ConvOptions<kAxes>>();
  }
};

/// [height, width, in] -> [height', width', filters]; variables kernel [height, width, in / groups, filters] and bias.
struct Conv2d : GroupedConv<2> {
  static constexpr std::string_view kName = "conv2d";
  static constexpr std::string_view kAliases = "conv, convolution2d";

  static config::Section<Conv2d> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// [steps, in] -> [steps', filters]; variables kernel [length, in / groups, filters] and bias.
struct Conv1d : GroupedConv<1> {
  static constexpr std::string_view kName = "conv1d";

  static config::Section<Conv1d> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// The gradient of a convolution with respect to its input, as a layer: [height, width, in] -> [height', width',
/// filters], larger by the strides; variables kernel [height, width, filters, in] and bias.
struct Conv2dTranspose : ConvOptions<2> {
  static constexpr std::string_view kName = "conv2d_transpose";
  static constexpr std::string_view kAliases = "conv_transpose2d";
  std::optional<std::array<std::int64_t, 2>> output_padding;

  static config::Section<Conv2dTranspose> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;

 private:
  /// Height and width of the output.
  std::array<std::int64_t, 2> enlarged(const Shape& image) const;
};

/// Convolves each channel with its own kernels: [height, width, in] -> [height', width', in depth_multiplier].
struct DepthwiseOptions : WindowOptions<2> {
  std::int64_t depth_multiplier = 1;
  Initializer depthwise_initializer = initializers::GlorotUniform{};
  std::optional<Regularizer> depthwise_regularizer;
  std::optional<Constraint> depthwise_constraint;

  static config::Section<DepthwiseOptions> section();

 protected:
  /// Before the activation; `name` is the kernel's, [height, width, in, depth_multiplier].
  ValueId depthwise(LayerBuilder& builder, ValueId source, std::string_view name, bool with_bias) const;
};

/// Variables kernel and bias.
struct DepthwiseConv2d : DepthwiseOptions {
  static constexpr std::string_view kName = "depthwise_conv2d";

  static config::Section<DepthwiseConv2d> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// A depthwise convolution, then a convolution of 1 x 1 to `filters`; variables depthwise_kernel, pointwise_kernel [1,
/// 1, in depth_multiplier, filters] and bias.
struct SeparableConv2d : DepthwiseOptions {
  static constexpr std::string_view kName = "separable_conv2d";
  std::int64_t filters = 1;
  Initializer pointwise_initializer = initializers::GlorotUniform{};
  std::optional<Regularizer> pointwise_regularizer;
  std::optional<Constraint> pointwise_constraint;

  static config::Section<SeparableConv2d> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
