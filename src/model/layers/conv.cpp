#include "model/layers/conv.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "graph/ops/conv2d.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/window.h"
#include "model/key_aliases.h"

namespace mirrortrain::layers {
namespace {

void check_groups(std::int64_t channels, std::int64_t filters, std::int64_t groups) {
  for (const auto& [what, count] : {std::pair{"input channels", channels}, std::pair{"filters", filters}}) {
    if (count % groups != 0) throw Error(fmt::format("{} {} cannot be split into {} groups", count, what, groups));
  }
}

/// The same values as [1, ...].
ValueId as_one_line(LayerBuilder& builder, ValueId value) {
  std::vector<std::int64_t> dims = builder.shape(value).dims();
  dims.insert(dims.begin(), 1);
  return builder.apply(ops::Reshape(Shape(dims)), {value});
}

}  // namespace

config::Section<Conv2d> Conv2d::section() {
  return config::Section<Conv2d>("2D convolution: activation(conv(x, kernel) + bias).").include<GroupedConv<2>>();
}

ValueId Conv2d::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const std::int64_t channels = builder.image(sources[0]).back();
  check_groups(channels, filters, groups);
  const ValueId kernel = builder.weight("kernel", {kernel_size[0], kernel_size[1], channels / groups, filters},
                                        kernel_initializer, kernel_regularizer, kernel_constraint);
  const ops::Conv2d convolution({strides, dilation_rate, padding, groups});
  const ValueId output = builder.apply(convolution, {sources[0], kernel, bias(builder, filters)});
  return apply_activation(builder.graph(), activation, output);
}

config::Section<Conv1d> Conv1d::section() {
  return config::Section<Conv1d>("1D convolution: activation(conv(x, kernel) + bias).").include<GroupedConv<1>>();
}

ValueId Conv1d::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const std::int64_t channels = builder.sequence(sources[0]).back();
  check_groups(channels, filters, groups);
  const ValueId kernel = builder.weight("kernel", {kernel_size[0], channels / groups, filters}, kernel_initializer,
                                        kernel_regularizer, kernel_constraint);
  const ops::Conv2d convolution({{1, strides[0]}, {1, dilation_rate[0]}, padding, groups});
  const ValueId output = builder.apply(
      convolution, {as_one_line(builder, sources[0]), as_one_line(builder, kernel), bias(builder, filters)});
  const ValueId activated = apply_activation(builder.graph(), activation, output);
  return builder.apply(ops::Reshape({builder.shape(output)[1], filters}), {activated});
}

config::Section<Conv2dTranspose> Conv2dTranspose::section() {
  return config::Section<Conv2dTranspose>(
             "2D transposed convolution, which enlarges images by its strides: the gradient of a convolution with "
             "respect to its input.")
      .key(
          "output_padding", &Conv2dTranspose::output_padding,
          "How much larger the output is than the smallest that fits, along height and width, or one number, below the "
          "strides; null: with padding same the input times the strides, with valid all that kernel and strides reach.",
          config::scalar_fills, config::at_least(0))
      .include<ConvOptions<2>>()
      .check("dilation_rate",
             [](const Conv2dTranspose& layer) -> std::string {
               const bool both = std::ranges::max(layer.dilation_rate) > 1 && std::ranges::max(layer.strides) > 1;
               return both ? "a dilation_rate above 1 needs strides of 1" : "";
             })
      .check("output_padding", [](const Conv2dTranspose& layer) -> std::string {
        const auto& more = layer.output_padding;
        const bool fits = !more || ((*more)[0] < layer.strides[0] && (*more)[1] < layer.strides[1]);
        return fits ? "" : fmt::format("expected less than the strides, [{}, {}]", layer.strides[0], layer.strides[1]);
      });
}

std::array<std::int64_t, 2> Conv2dTranspose::enlarged(const Shape& image) const {
  std::array<std::int64_t, 2> large{};
  for (const std::size_t axis : {0, 1}) {
    const std::int64_t stride = strides[axis], extent = (kernel_size[axis] - 1) * dilation_rate[axis] + 1;
    const bool same = padding == ops::Padding::kSame;
    if (!output_padding) {
      large[axis] = same ? image[axis] * stride : (image[axis] - 1) * stride + std::max(extent, stride);
      continue;
    }
    const std::int64_t smallest = (image[axis] - 1) * stride + extent - (same ? 2 * (extent / 2) : 0);
    large[axis] = smallest + (*output_padding)[axis];
    const auto back = ops::window_axis(large[axis], kernel_size[axis], stride, dilation_rate[axis], padding);
    if (back.output != image[axis]) {
      throw Error(
          fmt::format("with output_padding {} the {} of {} would become {}, which no kernel of {} with padding "
                      "same leads back to {}; choose an odd kernel_size or another output_padding",
                      (*output_padding)[axis], axis == 0 ? "height" : "width", image[axis], large[axis],
                      kernel_size[axis], image[axis]));
    }
  }
  return large;
}

ValueId Conv2dTranspose::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const Shape& image = builder.image(sources[0]);
  const auto [height, width] = enlarged(image);
  const ValueId kernel = builder.weight("kernel", {kernel_size[0], kernel_size[1], filters, image.back()},
                                        kernel_initializer, kernel_regularizer, kernel_constraint);
  const ops::Conv2dInputGradient transposed({strides, dilation_rate, padding, 1}, {height, width, filters});
  ValueId output = builder.apply(transposed, {sources[0], kernel});
  if (const ValueId offset = bias(builder, filters); offset != kNoValue) {
    output = builder.plus_along_last(output, offset);
  }
  return apply_activation(builder.graph(), activation, output);
}

config::Section<DepthwiseOptions> DepthwiseOptions::section() {
  return config::Section<DepthwiseOptions>("A convolution of each channel alone.")
      .key("depth_multiplier", &DepthwiseOptions::depth_multiplier, "Number of kernels for each input channel.",
           config::at_least(1))
      .key("depthwise_initializer", &DepthwiseOptions::depthwise_initializer, "Initializer of the depthwise kernel.",
           config::aliases("kernel_initializer"))
      .key("depthwise_regularizer", &DepthwiseOptions::depthwise_regularizer,
           "Regularizer of the depthwise kernel; null: none.", config::aliases("kernel_regularizer"))
      .key("depthwise_constraint", &DepthwiseOptions::depthwise_constraint,
           "Constraint of the depthwise kernel after each update; null: none.", config::aliases("kernel_constraint"))
      .include<WindowOptions<2>>();
}

ValueId DepthwiseOptions::depthwise(LayerBuilder& builder, ValueId source, std::string_view kernel_name,
                                    bool with_bias) const {
  const std::int64_t channels = builder.image(source).back();
  const ValueId kernel = builder.weight(kernel_name, {kernel_size[0], kernel_size[1], channels, depth_multiplier},
                                        depthwise_initializer, depthwise_regularizer, depthwise_constraint);
  const ValueId offset = with_bias ? bias(builder, channels * depth_multiplier) : kNoValue;
  // The same elements are the kernel of a convolution with a group for each channel.
  const Shape grouped{kernel_size[0], kernel_size[1], 1, channels * depth_multiplier};
  const ops::Conv2d convolution({strides, dilation_rate, padding, channels});
  return builder.apply(convolution, {source, builder.apply(ops::Reshape(grouped), {kernel}), offset});
}

config::Section<DepthwiseConv2d> DepthwiseConv2d::section() {
  return config::Section<DepthwiseConv2d>("2D depthwise convolution: each input channel with kernels of its own.")
      .include<DepthwiseOptions>();
}

ValueId DepthwiseConv2d::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  return apply_activation(builder.graph(), activation, depthwise(builder, sources[0], "kernel", true));
}

config::Section<SeparableConv2d> SeparableConv2d::section() {
  return config::Section<SeparableConv2d>(
             "2D separable convolution: a depthwise convolution, then a convolution of 1 x 1 over the channels.")
      .key("filters", &SeparableConv2d::filters, "Number of output channels.", config::required, config::at_least(1),
           kFiltersAliases)
      .key("pointwise_initializer", &SeparableConv2d::pointwise_initializer, "Initializer of the pointwise kernel.")
      .key("pointwise_regularizer", &SeparableConv2d::pointwise_regularizer,
           "Regularizer of the pointwise kernel; null: none.")
      .key("pointwise_constraint", &SeparableConv2d::pointwise_constraint,
           "Constraint of the pointwise kernel after each update; null: none.")
      .include<DepthwiseOptions>();
}

ValueId SeparableConv2d::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const std::int64_t channels = builder.image(sources[0]).back() * depth_multiplier;
  const ValueId of_channels = depthwise(builder, sources[0], "depthwise_kernel", false);
  const ValueId kernel = builder.weight("pointwise_kernel", {1, 1, channels, filters}, pointwise_initializer,
                                        pointwise_regularizer, pointwise_constraint);
  const ValueId output = builder.apply(ops::Conv2d({}), {of_channels, kernel, bias(builder, filters)});
  return apply_activation(builder.graph(), activation, output);
}

}  // namespace mirrortrain::layers
