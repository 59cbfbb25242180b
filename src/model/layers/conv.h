#pragma once

#include <array>
#include <span>

#include "model/activation.h"
#include "model/initializers.h"
#include "model/key_aliases.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"
#include "model/padding.h"
#include "model/regularizer.h"

namespace mirrortrain::layers {

/// The options of every convolution: how the kernel moves over its input, and the bias and activation.
template <std::size_t kAxes>
struct WindowOptions : LayerCommon {
  static constexpr bool kIsImage = kAxes == 2;
  std::array<std::int64_t, kAxes> kernel_size{};
  std::array<std::int64_t, kAxes> strides = ones();
  ops::Padding padding = ops::Padding::kValid;
  std::array<std::int64_t, kAxes> dilation_rate = ones();
  ActivationName activation = ActivationName::kLinear;
  bool use_bias = true;
  Initializer bias_initializer = initializers::Zeros{};
  std::optional<Regularizer> bias_regularizer;
  std::optional<Constraint> bias_constraint;

  WindowOptions() { kernel_size.fill(1); }

  static config::Section<WindowOptions> section() {
    using config::at_least, config::at_most, config::scalar_fills, config::required;
    return config::Section<WindowOptions>("A kernel that moves over its input.")
        .key("kernel_size", &WindowOptions::kernel_size,
             kIsImage ? "Height and width of the kernel, or one number." : "Length of the kernel.", required,
             scalar_fills, at_least(1), at_most(kLongestWindow), config::aliases("kernel, filter_size"))
        .key("strides", &WindowOptions::strides,
             kIsImage ? "Strides of the convolution along height and width, or one number."
                      : "Stride of the convolution.",
             scalar_fills, at_least(1), at_most(kLongestWindow), kStridesAliases)
        .key("padding", &WindowOptions::padding,
             "valid: no padding; same: zeros are padded so that with stride 1 the output has the size of the input.")
        .key("dilation_rate", &WindowOptions::dilation_rate,
             kIsImage ? "Dilation rate of the convolution along height and width, or one number."
                      : "Dilation rate of the convolution.",
             scalar_fills, at_least(1), at_most(kLongestWindow), config::aliases("dilation"))
        .key("activation", &WindowOptions::activation, "Activation applied to the output.", kActivationAliases)
        .key("use_bias", &WindowOptions::use_bias, "Whether the layer uses a bias vector.", kUseBiasAliases)
        .key("bias_initializer", &WindowOptions::bias_initializer, "Initializer of the bias.")
        .key("bias_regularizer", &WindowOptions::bias_regularizer, "Regularizer of the bias; null: none.")
        .key("bias_constraint", &WindowOptions::bias_constraint,
             "Constraint of the bias after each update; null: none.")
        .check("bias_initializer", [](const WindowOptions& layer) { return without_bias(layer); })
        .check("bias_regularizer",
               [](const WindowOptions& layer) { return without_bias(layer, layer.bias_regularizer.has_value()); })
        .check("bias_constraint",
               [](const WindowOptions& layer) { return without_bias(layer, layer.bias_constraint.has_value()); })
        .template include<LayerCommon>();
  }

 protected:
  /// The bias, or kNoValue without one.
  ValueId bias(LayerBuilder& builder, std::int64_t filters) const {
    return use_bias ? builder.weight("bias", {filters}, bias_initializer, bias_regularizer, bias_constraint) : kNoValue;
  }

 private:
  static constexpr std::array<std::int64_t, kAxes> ones() {
    std::array<std::int64_t, kAxes> all{};
    all.fill(1);
    return all;
  }
};

/// A convolution with one kernel from all channels to `filters`.
template <std::size_t kAxes>
struct ConvOptions : WindowOptions<kAxes> {
  std::int64_t filters = 1;
  Initializer kernel_initializer = initializers::GlorotUniform{};
  std::optional<Regularizer> kernel_regularizer;
  std::optional<Constraint> kernel_constraint;

  static config::Section<ConvOptions> section() {
    return config::Section<ConvOptions>("A convolution.")
        .key("filters", &ConvOptions::filters, "Number of output channels.", config::required, config::at_least(1),
             kFiltersAliases)
        .key("kernel_initializer", &ConvOptions::kernel_initializer, "Initializer of the kernel.",
             kKernelInitializerAliases)
        .key("kernel_regularizer", &ConvOptions::kernel_regularizer, "Regularizer of the kernel; null: none.")
        .key("kernel_constraint", &ConvOptions::kernel_constraint,
             "Constraint of the kernel after each update; null: none.")
        .template include<WindowOptions<kAxes>>();
  }
};

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

/// Convolves each channel with separate kernels: [height, width, in] -> [height', width', in depth_multiplier].
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
