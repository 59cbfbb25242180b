#include <algorithm>
#include <cmath>

#include "graph/ops/batch_norm.h"
#include "kernels/cpu/batch_norm_gradient.h"

namespace mirrortrain::cpu {
namespace {

/// gamma / sqrt(moving_variance + epsilon)
void fill_scale(std::int64_t channels, const float* gamma, const float* variance, float epsilon, float* scale) {
  for (std::int64_t c = 0; c < channels; ++c) {
    scale[c] = (gamma == nullptr ? 1.0f : gamma[c]) / std::sqrt(variance[c] + epsilon);
  }
}

std::unique_ptr<Kernel> make_inference(const ops::BatchNormInference& op, const KernelSpecs& specs) {
  const Cells shape(specs, specs.inputs[0]);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    const auto body = [=, epsilon = op.epsilon, relu = op.relu](const KernelArgs& args) {
      const float* beta = input<float>(args, 2);
      auto* scale = reinterpret_cast<float*>(args.workspace);
      float* zeros = scale + shape.channels;
      fill_scale(shape.channels, input<float>(args, 1), input<float>(args, 4), epsilon, scale);
      if (beta == nullptr) std::fill(zeros, zeros + shape.channels, 0.0f);
      normalize(shape, relu, input<T>(args, 0), input<float>(args, 3), scale, beta == nullptr ? zeros : beta,
                output<T>(args, 0));
    };
    return loop_kernel(body, workspace_of(0, 2, shape.channels));
  });
}

template <bool kRelu, class T>
void inference_gradient(const Cells& shape, float epsilon, float most, const KernelArgs& args) {
  const T* dy = input<T>(args, 0);
  const T* y = kRelu ? input<T>(args, 3) : nullptr;
  T* dx = output<T>(args, 0);
  auto* scale = reinterpret_cast<float*>(args.workspace);
  fill_scale(shape.channels, input<float>(args, 1), input<float>(args, 2), epsilon, scale);
  shape.for_vectors([=](std::int64_t c, auto part) {
    return [=, factor = get(scale + c, part)](std::int64_t i) {
      Vec gradient = get(dy + i, part);
      if constexpr (kRelu) gradient = rectified(gradient, get(y + i, part), most);
      put(dx + i, gradient * factor, part);
    };
  });
}

std::unique_ptr<Kernel> make_inference_gradient(const ops::BatchNormInferenceGradient& op, const KernelSpecs& specs) {
  const Cells shape(specs, specs.inputs[0]);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    const auto gradient = op.relu ? inference_gradient<true, T> : inference_gradient<false, T>;
    const auto body = [=, epsilon = op.epsilon, most = op.relu.most](const KernelArgs& args) {
      gradient(shape, epsilon, most, args);
    };
    return loop_kernel(body, workspace_of(0, 1, shape.channels));
  });
}

}  // namespace

void add_batch_norm_inference_kernels(KernelRegistry& registry) {
  registry.add<ops::BatchNormInference>(make_inference);
  registry.add<ops::BatchNormInferenceGradient>(make_inference_gradient);
}

}  // namespace mirrortrain::cpu
