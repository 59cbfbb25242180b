#include "graph/ops/conv.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "graph/ops/checks.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/window.h"

namespace mirrortrain::ops {
namespace {

/// "[height, width, channels]".
template <std::size_t kAxes>
constexpr std::string_view kImages = kAxes == 2 ? "[height, width, channels]" : "[depth, height, width, channels]";

template <std::size_t kAxes>
void check_images(std::string_view op, std::string_view what, const ValueSpec& spec) {
  if (!spec.batched || spec.shape.rank() != kAxes + 1 || !is_float(spec.dtype)) {
    throw Error(fmt::format("{}: {} must be {} per row, float32 or bfloat16; found {} {}", op, what, kImages<kAxes>,
                            name_of(spec.dtype), spec.shape.text()));
  }
}

/// The output's shape per row, given those of an image and of the kernel. Throws Error where they do not fit.
template <std::size_t kAxes>
Shape output_shape(std::string_view op, const ConvAttributes<kAxes>& conv, const Shape& image, const Shape& kernel) {
  const std::int64_t channels = image.back();
  const std::string_view images = kAxes == 2 ? "images" : "volumes";
  if (conv.groups < 1 || channels % conv.groups != 0) {
    throw Error(fmt::format("{}: {} channels cannot be split into {} groups", op, channels, conv.groups));
  }
  if (kernel.rank() != kAxes + 2 || kernel[kAxes] != channels / conv.groups || kernel.back() % conv.groups != 0) {
    throw Error(
        fmt::format("{}: {} {} in {} group(s) need a kernel [{}height, width, {}, filters], filters a multiple "
                    "of {}; found {}",
                    op, images, image.text(), conv.groups, kAxes == 2 ? "" : "depth, ", channels / conv.groups,
                    conv.groups, kernel.text()));
  }
  Shape output = image;
  output[kAxes] = kernel.back();
  for (std::size_t axis = 0; axis < kAxes; ++axis) {
    output[axis] =
        window_axis(image[axis], kernel[axis], conv.strides[axis], conv.dilation_rate[axis], conv.padding).output;
    if (output[axis] < 1) {
      throw Error(
          fmt::format("{}: a kernel {} with dilation {} does not fit into {} {} without padding; take a smaller "
                      "kernel_size, or padding: same",
                      op, kernel.text(), conv.dilation_rate[axis], images, image.text()));
    }
  }
  return output;
}

template <std::size_t kAxes>
void check_gradient(std::string_view op, const ValueSpec& gradient, const Shape& expected) {
  check_images<kAxes>(op, "the output's gradient", gradient);
  if (gradient.shape != expected) {
    throw Error(
        fmt::format("{}: the output's gradient must be {}, found {}", op, expected.text(), gradient.shape.text()));
  }
}

}  // namespace

template <std::size_t kAxes>
std::vector<ValueSpec> Conv<kAxes>::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec &x = inputs[0], &kernel = inputs[1];
  check_images<kAxes>(name(), "its input", x);
  const Shape output = output_shape<kAxes>(name(), *this, x.shape, kernel.shape);
  if (!is_float32(kernel, kernel.shape)) throw Error(fmt::format("{}: the kernel must be a float32 variable", name()));
  if (inputs.size() > 2 && inputs[2].shape != Shape{0} && !is_float32(inputs[2], {output.back()})) {
    throw Error(fmt::format("{}: a kernel {} needs a float32 bias [{}], found {}", name(), kernel.shape.text(),
                            output.back(), inputs[2].shape.text()));
  }
  return {{x.dtype, output, true}};
}

template <std::size_t kAxes>
std::vector<ValueId> Conv<kAxes>::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                           const std::vector<bool>& wanted) const {
  const ValueId x = node.inputs[0], kernel = node.inputs[1];
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  ValueId dy = output_gradients[0];
  if (dy == kNoValue) return gradients;
  if (activation != ActivationKind::kLinear) {
    dy = graph.apply_one(ActivationGradient(activation), {node.outputs[0], dy});
  }
  if (wanted[0]) gradients[0] = graph.apply_one(ConvInputGradient<kAxes>(*this, graph.spec(x).shape), {dy, kernel});
  const bool with_bias = node.inputs.size() > 2 && node.inputs[2] != kNoValue && wanted[2];
  if (wanted[1] || with_bias) {
    const std::vector<ValueId> weights =
        graph.apply(ConvWeightGradient<kAxes>(*this, graph.spec(kernel).shape, with_bias), {x, dy});
    if (wanted[1]) gradients[1] = weights[0];
    if (with_bias) gradients[2] = weights[1];
  }
  return gradients;
}

template <std::size_t kAxes>
std::vector<ValueSpec> ConvInputGradient<kAxes>::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec &dy = inputs[0], &kernel = inputs[1];
  check_gradient<kAxes>(name(), dy, output_shape<kAxes>(name(), *this, input_shape, kernel.shape));
  return {{dy.dtype, input_shape, true}};
}

template <std::size_t kAxes>
std::vector<ValueId> ConvInputGradient<kAxes>::gradient(Graph& graph, const Node& node,
                                                        std::span<const ValueId> output_gradients,
                                                        const std::vector<bool>& wanted) const {
  const ValueId dy = node.inputs[0], kernel = node.inputs[1], gradient = output_gradients[0];
  std::vector<ValueId> gradients(2, kNoValue);
  if (gradient == kNoValue) return gradients;
  if (wanted[0]) gradients[0] = graph.apply_one(Conv<kAxes>(*this), {gradient, kernel, kNoValue});
  if (wanted[1]) {
    const ConvWeightGradient<kAxes> of_kernel(*this, graph.spec(kernel).shape, false);
    gradients[1] = graph.apply_one(of_kernel, {gradient, dy});
  }
  return gradients;
}

template <std::size_t kAxes>
std::vector<ValueSpec> ConvWeightGradient<kAxes>::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec &x = inputs[0], &dy = inputs[1];
  check_images<kAxes>(name(), "its input", x);
  check_gradient<kAxes>(name(), dy, output_shape<kAxes>(name(), *this, x.shape, kernel_shape));
  std::vector<ValueSpec> outputs{{DType::kFloat32, kernel_shape, false}};
  if (with_bias) outputs.push_back({DType::kFloat32, {kernel_shape.back()}, false});
  return outputs;
}

template struct Conv<2>;
template struct Conv<3>;
template struct ConvInputGradient<2>;
template struct ConvInputGradient<3>;
template struct ConvWeightGradient<2>;
template struct ConvWeightGradient<3>;

WindowAxis window_axis(std::int64_t input, std::int64_t window, std::int64_t stride, std::int64_t dilation,
                       Padding padding) {
  const std::int64_t extent = (window - 1) * dilation + 1;
  WindowAxis axis;
  if (padding == Padding::kSame) {
    axis.output = (input + stride - 1) / stride;
    const std::int64_t padded = std::max<std::int64_t>(0, (axis.output - 1) * stride + extent - input);
    axis.pad_before = padded / 2;
    axis.pad_after = padded - axis.pad_before;
  } else if (input >= extent) {
    axis.output = (input - extent) / stride + 1;
  }
  return axis;
}

}  // namespace mirrortrain::ops
