#include "graph/ops/conv2d.h"

#include "kernels/cpu/choose_kernel.h"
#include "kernels/cpu/few_channels.h"
#include "kernels/cpu/onednn_kernel.h"
#include "kernels/cpu/onednn_problems.h"
#include "kernels/cpu/registry.h"
#include "kernels/cpu/winograd.h"

namespace mirrortrain::cpu {
namespace {

std::unique_ptr<Kernel> make_forward(const ops::Conv2d& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [&](const KernelSpecs& s) {
    if (winograd::serves(op, s.inputs[0], s.inputs[1].shape, s.outputs[0])) return winograd::make_forward(op, s);
    if (few_channels::serves(op, s.inputs[0], s.inputs[1].shape)) return few_channels::make_forward(op, s);
    const bool with_bias = s.inputs.size() > 2 && s.input_present[2];
    return onednn::make_forward(onednn::convolution(op, s.inputs[0], s.inputs[1].shape, s.outputs[0], with_bias, false),
                                op.activation, s.threads);
  });
}

std::unique_ptr<Kernel> make_input_gradient(const ops::Conv2dInputGradient& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [&](const KernelSpecs& s) {
    if (winograd::serves(op, s.outputs[0], s.inputs[1].shape, s.inputs[0])) return winograd::make_input_gradient(op, s);
    return onednn::make_input_gradient(
        onednn::convolution(op, s.outputs[0], s.inputs[1].shape, s.inputs[0], false, false), s.threads);
  });
}

std::unique_ptr<Kernel> make_weight_gradient(const ops::Conv2dWeightGradient& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [&](const KernelSpecs& s) {
    if (winograd::serves(op, s.inputs[0], op.kernel_shape, s.inputs[1])) return winograd::make_weight_gradient(op, s);
    if (few_channels::serves(op, s.inputs[0], op.kernel_shape)) return few_channels::make_weight_gradient(op, s);
    return onednn::make_weight_gradient(
        onednn::convolution(op, s.inputs[0], op.kernel_shape, s.inputs[1], op.with_bias, true), s.threads);
  });
}

}  // namespace

void add_conv2d_kernels(KernelRegistry& registry) {
  registry.add<ops::Conv2d>(make_forward);
  registry.add<ops::Conv2dInputGradient>(make_input_gradient);
  registry.add<ops::Conv2dWeightGradient>(make_weight_gradient);
}

}  // namespace mirrortrain::cpu
