#include "graph/ops/conv2d.h"

#include "kernels/cpu/choose_kernel.h"
#include "kernels/cpu/few_channels.h"
#include "kernels/cpu/onednn_kernel.h"
#include "kernels/cpu/registry.h"
#include "kernels/cpu/winograd.h"

namespace mirrortrain::cpu {
namespace {

/// Axes of oneDNN: [n, channels, h, w] and [(groups,) out, in, kh, kw]; the memory is channels last and HWIO.
onednn::Convolution convolution(const ops::Conv2dAttributes& op, const TensorView& x, const Shape& kernel,
                                const TensorView& y, bool with_bias, bool gradient_of_weights) {
  const auto type = onednn::type_of(x.dtype);
  constexpr auto kFloat = dnnl::memory::data_type::f32;
  const auto images = [&](const Shape& shape) {
    return onednn::Desc({shape[0], shape[3], shape[1], shape[2]}, type, onednn::Tag::nhwc);
  };
  const std::int64_t out = kernel[3], groups = op.groups;
  onednn::Dims weights{out / groups, kernel[2], kernel[0], kernel[1]};
  if (groups > 1) weights.insert(weights.begin(), groups);
  onednn::Convolution problem{.dtype = x.dtype,
                              .source = images(x.shape),
                              .weights = {weights, gradient_of_weights ? kFloat : type, onednn::Tag::any},
                              .bias = with_bias ? onednn::Desc({out}, kFloat, onednn::Tag::a) : onednn::Desc(),
                              .destination = images(y.shape),
                              .canonical = {weights, kFloat, groups > 1 ? onednn::Tag::hwigo : onednn::Tag::hwio}};
  for (const std::size_t axis : {0, 1}) {
    const ops::WindowAxis window =
        ops::window_axis(x.shape[axis + 1], kernel[axis], op.strides[axis], op.dilation_rate[axis], op.padding);
    problem.strides.push_back(op.strides[axis]);
    problem.dilation.push_back(op.dilation_rate[axis] - 1);
    problem.pad_before.push_back(window.pad_before);
    problem.pad_after.push_back(window.pad_after);
  }
  return problem;
}

std::unique_ptr<Kernel> make_forward(const ops::Conv2d& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [&](const KernelSpecs& s) {
    if (winograd::serves(op, s.inputs[0], s.inputs[1].shape, s.outputs[0])) return winograd::make_forward(op, s);
    if (few_channels::serves(op, s.inputs[0], s.inputs[1].shape)) return few_channels::make_forward(op, s);
    const bool with_bias = s.inputs.size() > 2 && s.input_present[2];
    return onednn::make_forward(convolution(op, s.inputs[0], s.inputs[1].shape, s.outputs[0], with_bias, false),
                                op.activation, s.threads);
  });
}

std::unique_ptr<Kernel> make_input_gradient(const ops::Conv2dInputGradient& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [&](const KernelSpecs& s) {
    if (winograd::serves(op, s.outputs[0], s.inputs[1].shape, s.inputs[0])) return winograd::make_input_gradient(op, s);
    return onednn::make_input_gradient(convolution(op, s.outputs[0], s.inputs[1].shape, s.inputs[0], false, false),
                                       s.threads);
  });
}

std::unique_ptr<Kernel> make_weight_gradient(const ops::Conv2dWeightGradient& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [&](const KernelSpecs& s) {
    if (winograd::serves(op, s.inputs[0], op.kernel_shape, s.inputs[1])) return winograd::make_weight_gradient(op, s);
    if (few_channels::serves(op, s.inputs[0], op.kernel_shape)) return few_channels::make_weight_gradient(op, s);
    return onednn::make_weight_gradient(convolution(op, s.inputs[0], op.kernel_shape, s.inputs[1], op.with_bias, true),
                                        s.threads);
  });
}

}  // namespace

void add_conv2d_kernels(KernelRegistry& registry) {
  registry.add<ops::Conv2d>(make_forward);
  registry.add<ops::Conv2dInputGradient>(make_input_gradient);
  registry.add<ops::Conv2dWeightGradient>(make_weight_gradient);
}

}  // namespace mirrortrain::cpu
