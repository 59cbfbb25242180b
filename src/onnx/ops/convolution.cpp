#include "graph/ops/conv.h"
#include "onnx/activation.h"
#include "onnx/operators.h"

namespace mirrortrain::onnx {
namespace {

/// [height, width, in / groups, out] as [out, in / groups, height, width]; of volumes with their depth.
template <std::size_t kAxes>
std::string kernel_of(Lowering& to, ValueId kernel) {
  Ints order{kAxes + 1, kAxes};
  for (std::size_t axis = 0; axis < kAxes; ++axis) order.push_back(static_cast<std::int64_t>(axis));
  return to.builder().transpose(to.value(kernel), order);
}

template <std::size_t kAxes>
struct Windows {
  Ints pads, left_over;  ///< elements behind the last window, of which a transposed convolution makes so many too

  Windows(const ops::ConvAttributes<kAxes>& conv, const Shape& image, const Shape& kernel) {
    Ints after;
    for (std::size_t axis = 0; axis < kAxes; ++axis) {
      const ops::WindowAxis window =
          ops::window_axis(image[axis], kernel[axis], conv.strides[axis], conv.dilation_rate[axis], conv.padding);
      const std::int64_t extent = (kernel[axis] - 1) * conv.dilation_rate[axis] + 1;
      pads.push_back(window.pad_before);
      after.push_back(window.pad_after);
      left_over.push_back(image[axis] + window.pad_before + window.pad_after -
                          (window.output - 1) * conv.strides[axis] - extent);
    }
    pads.insert(pads.end(), after.begin(), after.end());
  }
};

template <std::size_t kAxes>
Attributes attributes_of(const ops::ConvAttributes<kAxes>& conv, const Windows<kAxes>& windows) {
  return {{"dilations", Ints(conv.dilation_rate.begin(), conv.dilation_rate.end())},
          {"group", conv.groups},
          {"pads", windows.pads},
          {"strides", Ints(conv.strides.begin(), conv.strides.end())}};
}

template <std::size_t kAxes>
void lower_conv(Lowering& to, const ops::Conv<kAxes>& op, const mirrortrain::Node& node) {
  const ValueId x = node.inputs[0], kernel = node.inputs[1];
  const Windows<kAxes> windows(op, to.spec(x).shape, to.spec(kernel).shape);
  const std::string image = to.channels_first(x), weights = kernel_of<kAxes>(to, kernel);
  const std::string bias = node.inputs.size() > 2 ? to.value(node.inputs[2]) : "";
  const std::string y = to.builder().add("Conv", {image, weights, bias}, attributes_of<kAxes>(op, windows));
  to.set_channels_first(node.outputs[0], activated(to.builder(), op.activation, y));
}

/// As a forward op it is the transposed convolution.
template <std::size_t kAxes>
void lower_transposed_conv(Lowering& to, const ops::ConvInputGradient<kAxes>& op, const mirrortrain::Node& node) {
  const ValueId x = node.inputs[0], kernel = node.inputs[1];
  const Windows<kAxes> windows(op, op.input_shape, to.spec(kernel).shape);
  Attributes attributes = attributes_of<kAxes>(op, windows);
  attributes.emplace_back("output_padding", windows.left_over);
  const std::string image = to.channels_first(x), weights = kernel_of<kAxes>(to, kernel);
  to.set_channels_first(node.outputs[0], to.builder().add("ConvTranspose", {image, weights}, std::move(attributes)));
}

}  // namespace

void add_convolution_operators(OperatorRegistry& registry) {
  registry.add<ops::Conv2d>(lower_conv<2>);
  registry.add<ops::Conv3d>(lower_conv<3>);
  registry.add<ops::Conv2dInputGradient>(lower_transposed_conv<2>);
  registry.add<ops::Conv3dInputGradient>(lower_transposed_conv<3>);
}

}  // namespace mirrortrain::onnx
