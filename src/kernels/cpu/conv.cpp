#include "graph/ops/conv.h"

#include "kernels/cpu/choose_kernel.h"
#include "kernels/cpu/float32_kernels.h"
#include "kernels/cpu/onednn_kernel.h"
#include "kernels/cpu/registry.h"
#include "kernels/cpu/simd.h"

namespace mirrortrain::cpu {
namespace {

enum class Choice { kWinograd, kFewChannels, kDense, kOneDnn, kInFloat32 };

/// A pixel's channels are then a row of a dense layer.
bool is_dense(const ops::Conv2dAttributes& op, const Shape& kernel) {
  return kernel[0] == 1 && kernel[1] == 1 && op.groups == 1 && op.strides == std::array<std::int64_t, 2>{1, 1};
}

/// For one-pixel images, as after a global pooling, oneDNN's convolution has a fifth of a dense layer's throughput.
bool has_one_pixel(const TensorView& y) { return y.shape[1] * y.shape[2] == 1; }

/// Depends only on the shapes, the dtype and the processor, so that a run is reproducible.
Choice choose(const ops::Conv2dAttributes& op, const TensorView& x, const Shape& kernel, const TensorView& y) {
  const bool is_float32 = x.dtype == DType::kFloat32;
  if (winograd::serves(op, x.shape, kernel, y.shape)) {
    // Four times fewer multiplications outweigh bfloat16's rate, conversions included, unless the processor has AMX
    // tiles.
    if (is_float32) return Choice::kWinograd;
    return onednn::has_tiles() ? Choice::kOneDnn : Choice::kInFloat32;
  }
  if (is_float32 && few_channels::serves(op, kernel)) return Choice::kFewChannels;
  return is_float32 && is_dense(op, kernel) ? Choice::kDense : Choice::kOneDnn;
}

std::unique_ptr<Kernel> make_conv2d(const ops::Conv2d& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [&](const KernelSpecs& s) -> std::unique_ptr<Kernel> {
    const TensorView &x = s.inputs[0], &kernel = s.inputs[1], &y = s.outputs[0];
    const bool with_bias = s.inputs.size() > 2 && s.input_present[2];
    switch (choose(op, x, kernel.shape, y)) {
      case Choice::kWinograd: return winograd::make_forward(op, s);
      case Choice::kFewChannels: return few_channels::make_forward(op, s);
      case Choice::kDense:  // reads the weights in place, but is slower if they are not whole vectors
        if (kernel.shape[3] % kLanes == 0 || has_one_pixel(y)) {
          return dense_float32::make_forward(ops::Dense(op.activation), s);
        }
        break;
      case Choice::kInFloat32: return nullptr;
      case Choice::kOneDnn: break;
    }
    return onednn::make_forward(onednn::convolution<2>(op, x, kernel.shape, y, with_bias), op.activation, s.threads);
  });
}

std::unique_ptr<Kernel> make_conv2d_input_gradient(const ops::Conv2dInputGradient& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [&](const KernelSpecs& s) -> std::unique_ptr<Kernel> {
    const TensorView &dx = s.outputs[0], &kernel = s.inputs[1], &dy = s.inputs[0];
    const Choice choice = choose(op, dx, kernel.shape, dy);
    if (choice == Choice::kWinograd) return winograd::make_input_gradient(op, s);
    if (choice == Choice::kInFloat32) return nullptr;
    if (choice == Choice::kDense && (kernel.shape[2] % kLanes == 0 || has_one_pixel(dy))) {
      return dense_float32::make_input_gradient(s);
    }
    return onednn::make_input_gradient(onednn::convolution<2>(op, dx, kernel.shape, dy, false), s.threads);
  });
}

std::unique_ptr<Kernel> make_conv2d_weight_gradient(const ops::Conv2dWeightGradient& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [&](const KernelSpecs& s) -> std::unique_ptr<Kernel> {
    const TensorView &x = s.inputs[0], &dy = s.inputs[1];
    switch (choose(op, x, op.kernel_shape, dy)) {
      case Choice::kWinograd: return winograd::make_weight_gradient(op, s);
      case Choice::kFewChannels: return few_channels::make_weight_gradient(op, s);
      case Choice::kInFloat32: return nullptr;
      case Choice::kDense:  // faster than the convolution's, up to twice where there are many pixels of few channels
        return onednn::make_weight_gradient(onednn::inner_product(x, dy, op.with_bias), s.threads);
      case Choice::kOneDnn: break;
    }
    return onednn::make_weight_gradient(onednn::convolution<2>(op, x, op.kernel_shape, dy, op.with_bias), s.threads);
  });
}

// Volumes: always oneDNN's.

std::unique_ptr<Kernel> make_conv3d(const ops::Conv3d& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [&](const KernelSpecs& s) {
    const bool with_bias = s.inputs.size() > 2 && s.input_present[2];
    const auto problem = onednn::convolution<3>(op, s.inputs[0], s.inputs[1].shape, s.outputs[0], with_bias);
    return onednn::make_forward(problem, op.activation, s.threads);
  });
}

std::unique_ptr<Kernel> make_conv3d_input_gradient(const ops::Conv3dInputGradient& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [&](const KernelSpecs& s) {
    const auto problem = onednn::convolution<3>(op, s.outputs[0], s.inputs[1].shape, s.inputs[0], false);
    return onednn::make_input_gradient(problem, s.threads);
  });
}

std::unique_ptr<Kernel> make_conv3d_weight_gradient(const ops::Conv3dWeightGradient& op, const KernelSpecs& specs) {
  return choose_kernel(op, specs, [&](const KernelSpecs& s) {
    const auto problem = onednn::convolution<3>(op, s.inputs[0], op.kernel_shape, s.inputs[1], op.with_bias);
    return onednn::make_weight_gradient(problem, s.threads);
  });
}

}  // namespace

void add_conv_kernels(KernelRegistry& registry) {
  registry.add<ops::Conv3d>(make_conv3d);
  registry.add<ops::Conv3dInputGradient>(make_conv3d_input_gradient);
  registry.add<ops::Conv3dWeightGradient>(make_conv3d_weight_gradient);
  registry.add<ops::Conv2d>(make_conv2d);
  registry.add<ops::Conv2dInputGradient>(make_conv2d_input_gradient);
  registry.add<ops::Conv2dWeightGradient>(make_conv2d_weight_gradient);
}

}  // namespace mirrortrain::cpu
