#include "model/layers/conv.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "graph/ops/arrange.h"
#include "graph/ops/conv.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/window.h"
#include "model/key_aliases.h"
#include "model/layers/single_steps.h"

namespace mirrortrain::layers {
namespace {

using config::at_least, config::at_most, config::required, config::scalar_fills;

/// "along height and width, or one number".
template <std::size_t kAxes>
constexpr std::string_view kAlong = by_axes<kAxes>("", " along height and width, or one number",
                                                   " along depth, height and width, or one number");

void check_groups(std::int64_t channels, std::int64_t filters, std::int64_t groups) {
  for (const auto& [what, count] : {std::pair{"input channels", channels}, std::pair{"filters", filters}}) {
    if (count % groups != 0) throw Error(fmt::format("{} {} cannot be split into {} groups", count, what, groups));
  }
}

// A sequence is an image of one line.

ValueId of_one_line(LayerBuilder& builder, ValueId value) {
  const Shape& shape = builder.shape(value);
  return builder.apply(ops::Reshape({shape[1], shape[2]}), {value});
}

template <std::size_t kAxes>
ops::ConvAttributes<(kAxes == 1 ? 2 : kAxes)> attributes_of(const WindowOptions<kAxes>& layer, std::int64_t groups) {
  if constexpr (kAxes == 1) {
    const ops::Padding padding = layer.padding == SequencePadding::kSame ? ops::Padding::kSame : ops::Padding::kValid;
    return {{1, layer.strides[0]}, {1, layer.dilation_rate[0]}, padding, groups};
  } else {
    return {layer.strides, layer.dilation_rate, layer.padding, groups};
  }
}

template <std::size_t kAxes>
bool pads_to_same(const WindowOptions<kAxes>& layer) {
  return layer.padding == WindowOptions<kAxes>::Padding::kSame;
}

}  // namespace

template <std::size_t kAxes>
config::Section<WindowOptions<kAxes>> WindowOptions<kAxes>::section() {
  constexpr std::string_view kPadding =
      kAxes == 1 ? "valid: no padding; same: zeros are padded so that with stride 1 the output has the size of the "
                   "input; causal: the same, all of them before the first position, so that no output depends on "
                   "later ones."
                 : "valid: no padding; same: zeros are padded so that with stride 1 the output has the size of the "
                   "input.";
  const std::string strides = fmt::format("Stride{} of the convolution{}.", kAxes == 1 ? "" : "s", kAlong<kAxes>);
  const std::string dilation = fmt::format("Dilation rate of the convolution{}.", kAlong<kAxes>);
  return config::Section<WindowOptions>("A kernel that moves over its input.")
      .key("kernel_size", &WindowOptions::kernel_size,
           by_axes<kAxes>("Length of the kernel.", "Height and width of the kernel, or one number.",
                          "Depth, height and width of the kernel, or one number."),
           required, scalar_fills, at_least(1), at_most(kLongestWindow), config::aliases("kernel, filter_size"))
      .key("strides", &WindowOptions::strides, strides, scalar_fills, at_least(1), at_most(kLongestWindow),
           kStridesAliases)
      .key("padding", &WindowOptions::padding, kPadding, config::aliases("pad"))
      .key("dilation_rate", &WindowOptions::dilation_rate, dilation, scalar_fills, at_least(1), at_most(kLongestWindow),
           config::aliases("dilation"))
      .key("activation", &WindowOptions::activation, "Activation applied to the output.", kActivationAliases)
      .key("use_bias", &WindowOptions::use_bias, "Whether the layer uses a bias vector.", kUseBiasAliases)
      .key("bias_initializer", &WindowOptions::bias_initializer, "Initializer of the bias.")
      .key("bias_regularizer", &WindowOptions::bias_regularizer, "Regularizer of the bias; null: none.")
      .key("bias_constraint", &WindowOptions::bias_constraint, "Constraint of the bias after each update; null: none.")
      .check("bias_initializer", [](const WindowOptions& layer) { return without_bias(layer); })
      .check("bias_regularizer",
             [](const WindowOptions& layer) { return without_bias(layer, layer.bias_regularizer.has_value()); })
      .check("bias_constraint",
             [](const WindowOptions& layer) { return without_bias(layer, layer.bias_constraint.has_value()); })
      .template include<LayerCommon>();
}

template <std::size_t kAxes>
Shape WindowOptions<kAxes>::kernel_shape(std::int64_t in, std::int64_t out) const {
  std::vector<std::int64_t> dims(kernel_size.begin(), kernel_size.end());
  dims.insert(dims.end(), {in, out});
  return Shape(dims);
}

template <std::size_t kAxes>
ValueId WindowOptions<kAxes>::convolve(LayerBuilder& builder, ValueId source, ValueId kernel, ValueId offset,
                                       std::int64_t groups) const {
  const auto attributes = attributes_of(*this, groups);
  if constexpr (kAxes == 1) {
    if (is_causal()) {
      source = builder.apply(ops::Pad({(kernel_size[0] - 1) * dilation_rate[0], 0}, {0, 0}), {source});
    }
    const std::vector<ValueId> operands{with_leading_axis(builder, source), with_leading_axis(builder, kernel), offset};
    return of_one_line(builder, builder.apply(ops::Conv2d(attributes), operands));
  } else {
    return builder.apply(ops::Conv<kAxes>(attributes), {source, kernel, offset});
  }
}

template <std::size_t kAxes>
config::Section<ConvOptions<kAxes>> ConvOptions<kAxes>::section() {
  return config::Section<ConvOptions>("A convolution.")
      .key("filters", &ConvOptions::filters, "Number of output channels.", required, at_least(1), at_most(kMostFilters),
           kFiltersAliases)
      .key("kernel_initializer", &ConvOptions::kernel_initializer, "Initializer of the kernel.",
           kKernelInitializerAliases)
      .key("kernel_regularizer", &ConvOptions::kernel_regularizer, "Regularizer of the kernel; null: none.")
      .key("kernel_constraint", &ConvOptions::kernel_constraint,
           "Constraint of the kernel after each update; null: none.")
      .template include<WindowOptions<kAxes>>();
}

template <std::size_t kAxes>
config::Section<Conv<kAxes>> Conv<kAxes>::section() {
  return config::Section<Conv>(fmt::format("{}D convolution: activation(conv(x, kernel) + bias).", kAxes))
      .key("groups", &Conv::groups, "Number of groups into which input channels and filters are split.", at_least(1),
           kGroupsAliases)
      .template include<ConvOptions<kAxes>>();
}

template <std::size_t kAxes>
ValueId Conv<kAxes>::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const std::int64_t channels = builder.spatial(sources[0], kAxes).back();
  check_groups(channels, this->filters, groups);
  const ValueId kernel = builder.weight("kernel", this->kernel_shape(channels / groups, this->filters),
                                        this->kernel_initializer, this->kernel_regularizer, this->kernel_constraint);
  const ValueId output = this->convolve(builder, sources[0], kernel, this->bias(builder, this->filters), groups);
  return apply_activation(builder.graph(), this->activation, output);
}

template <std::size_t kAxes>
config::Section<ConvTranspose<kAxes>> ConvTranspose<kAxes>::section() {
  const std::string more = fmt::format(
      "How much larger the output is than the smallest that fits{}, below the strides; null: with padding same the "
      "input times the strides, with valid all that kernel and strides reach.",
      kAxes == 1 ? "" : fmt::format(",{}", kAlong<kAxes>));
  return config::Section<ConvTranspose>(
             fmt::format("{}D transposed convolution, which enlarges {} by its strides: the gradient of a convolution "
                         "with respect to its input.",
                         kAxes, by_axes<kAxes>("sequences", "images", "volumes")))
      .key("output_padding", &ConvTranspose::output_padding, more, scalar_fills, at_least(0))
      .template include<ConvOptions<kAxes>>()
      .check("padding",
             [](const ConvTranspose& layer) -> std::string {
               return layer.is_causal() ? "a transposed convolution has no causal padding; expected valid or same" : "";
             })
      .check("dilation_rate",
             [](const ConvTranspose& layer) -> std::string {
               const bool both = std::ranges::max(layer.dilation_rate) > 1 && std::ranges::max(layer.strides) > 1;
               return both ? "a dilation_rate above 1 needs strides of 1" : "";
             })
      .check("output_padding", [](const ConvTranspose& layer) -> std::string {
        const bool fits =
            !layer.output_padding || std::ranges::equal(*layer.output_padding, layer.strides, std::ranges::less());
        return fits ? "" : fmt::format("expected less than the strides, [{}]", fmt::join(layer.strides, ", "));
      });
}

template <std::size_t kAxes>
std::array<std::int64_t, kAxes> ConvTranspose<kAxes>::enlarged(const Shape& input) const {
  constexpr std::array<std::string_view, 3> kNames{"depth", "height", "width"};
  const bool same = pads_to_same(*this);
  const ops::Padding as_padding = same ? ops::Padding::kSame : ops::Padding::kValid;
  std::array<std::int64_t, kAxes> large{};
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    const std::int64_t stride = this->strides[axis], kernel = this->kernel_size[axis];
    const std::int64_t extent = (kernel - 1) * this->dilation_rate[axis] + 1;
    if (!output_padding) {
      large[axis] = same ? input[axis] * stride : (input[axis] - 1) * stride + std::max(extent, stride);
      continue;
    }
    const std::int64_t smallest = (input[axis] - 1) * stride + extent - (same ? 2 * (extent / 2) : 0);
    large[axis] = smallest + (*output_padding)[axis];
    const auto back = ops::window_axis(large[axis], kernel, stride, this->dilation_rate[axis], as_padding);
    if (back.output != input[axis]) {
      throw Error(
          fmt::format("with output_padding {} the {} of {} would become {}, which no kernel of {} with padding "
                      "same leads back to {}; choose an odd kernel_size or another output_padding",
                      (*output_padding)[axis], kAxes == 1 ? "length" : kNames[axis + 3 - kAxes], input[axis],
                      large[axis], kernel, input[axis]));
    }
  }
  return large;
}

template <std::size_t kAxes>
ValueId ConvTranspose<kAxes>::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const Shape input = builder.spatial(sources[0], kAxes);
  const auto large = enlarged(input);
  const ValueId kernel = builder.weight("kernel", this->kernel_shape(this->filters, input.back()),
                                        this->kernel_initializer, this->kernel_regularizer, this->kernel_constraint);
  const auto attributes = attributes_of(*this, 1);
  ValueId output = kNoValue;
  if constexpr (kAxes == 1) {
    const ops::Conv2dInputGradient transposed(attributes, {1, large[0], this->filters});
    const std::vector<ValueId> operands{with_leading_axis(builder, sources[0]), with_leading_axis(builder, kernel)};
    output = of_one_line(builder, builder.apply(transposed, operands));
  } else {
    Shape enlarged_shape = input;
    for (std::size_t axis = 0; axis < kAxes; ++axis) enlarged_shape[axis] = large[axis];
    enlarged_shape[kAxes] = this->filters;
    output = builder.apply(ops::ConvInputGradient<kAxes>(attributes, enlarged_shape), {sources[0], kernel});
  }
  if (const ValueId offset = this->bias(builder, this->filters); offset != kNoValue) {
    output = builder.plus_along_last(output, offset);
  }
  return apply_activation(builder.graph(), this->activation, output);
}

template <std::size_t kAxes>
config::Section<DepthwiseOptions<kAxes>> DepthwiseOptions<kAxes>::section() {
  return config::Section<DepthwiseOptions>("A convolution of each channel alone.")
      .key("depth_multiplier", &DepthwiseOptions::depth_multiplier, "Number of kernels for each input channel.",
           at_least(1))
      .key("depthwise_initializer", &DepthwiseOptions::depthwise_initializer, "Initializer of the depthwise kernel.",
           config::aliases("kernel_initializer"))
      .key("depthwise_regularizer", &DepthwiseOptions::depthwise_regularizer,
           "Regularizer of the depthwise kernel; null: none.", config::aliases("kernel_regularizer"))
      .key("depthwise_constraint", &DepthwiseOptions::depthwise_constraint,
           "Constraint of the depthwise kernel after each update; null: none.", config::aliases("kernel_constraint"))
      .template include<WindowOptions<kAxes>>();
}

template <std::size_t kAxes>
ValueId DepthwiseOptions<kAxes>::depthwise(LayerBuilder& builder, ValueId source, std::string_view kernel_name,
                                           bool with_bias) const {
  const std::int64_t channels = builder.spatial(source, kAxes).back();
  const ValueId kernel = builder.weight(kernel_name, this->kernel_shape(channels, depth_multiplier),
                                        depthwise_initializer, depthwise_regularizer, depthwise_constraint);
  const ValueId offset = with_bias ? this->bias(builder, channels * depth_multiplier) : kNoValue;
  // The same elements are the kernel of a convolution with a group for each channel.
  const Shape grouped = this->kernel_shape(1, channels * depth_multiplier);
  return this->convolve(builder, source, builder.apply(ops::Reshape(grouped), {kernel}), offset, channels);
}

template <std::size_t kAxes>
config::Section<DepthwiseConv<kAxes>> DepthwiseConv<kAxes>::section() {
  return config::Section<DepthwiseConv>(
             fmt::format("{}D depthwise convolution: each input channel with kernels of its own.", kAxes))
      .template include<DepthwiseOptions<kAxes>>();
}

template <std::size_t kAxes>
ValueId DepthwiseConv<kAxes>::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  return apply_activation(builder.graph(), this->activation, this->depthwise(builder, sources[0], "kernel", true));
}

template <std::size_t kAxes>
config::Section<SeparableConv<kAxes>> SeparableConv<kAxes>::section() {
  return config::Section<SeparableConv>(
             fmt::format("{}D separable convolution: a depthwise convolution, then a convolution of {} over the "
                         "channels.",
                         kAxes, by_axes<kAxes>("length 1", "1 x 1", "")))
      .key("filters", &SeparableConv::filters, "Number of output channels.", required, at_least(1),
           at_most(kMostFilters), kFiltersAliases)
      .key("pointwise_initializer", &SeparableConv::pointwise_initializer, "Initializer of the pointwise kernel.")
      .key("pointwise_regularizer", &SeparableConv::pointwise_regularizer,
           "Regularizer of the pointwise kernel; null: none.")
      .key("pointwise_constraint", &SeparableConv::pointwise_constraint,
           "Constraint of the pointwise kernel after each update; null: none.")
      .template include<DepthwiseOptions<kAxes>>();
}

template <std::size_t kAxes>
ValueId SeparableConv<kAxes>::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const std::int64_t channels = builder.spatial(sources[0], kAxes).back() * this->depth_multiplier;
  const ValueId of_channels = this->depthwise(builder, sources[0], "depthwise_kernel", false);
  std::vector<std::int64_t> dims(kAxes, 1);
  dims.insert(dims.end(), {channels, filters});
  const ValueId kernel = builder.weight("pointwise_kernel", Shape(dims), pointwise_initializer, pointwise_regularizer,
                                        pointwise_constraint);
  WindowOptions<kAxes> pointwise;  // of length 1, stride 1
  const ValueId output = pointwise.convolve(builder, of_channels, kernel, this->bias(builder, filters), 1);
  return apply_activation(builder.graph(), this->activation, output);
}

template struct WindowOptions<1>;
template struct WindowOptions<2>;
template struct WindowOptions<3>;
template struct ConvOptions<1>;
template struct ConvOptions<2>;
template struct ConvOptions<3>;
template struct Conv<1>;
template struct Conv<2>;
template struct Conv<3>;
template struct ConvTranspose<1>;
template struct ConvTranspose<2>;
template struct ConvTranspose<3>;
template struct DepthwiseOptions<1>;
template struct DepthwiseOptions<2>;
template struct DepthwiseConv<1>;
template struct DepthwiseConv<2>;
template struct SeparableConv<1>;
template struct SeparableConv<2>;

}  // namespace mirrortrain::layers
