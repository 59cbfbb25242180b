#include "graph/ops/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/batch_norm_gradient.h"
#include "kernels/cpu/registry.h"

namespace mirrortrain::cpu {
namespace {

/// Computes from the sums the outputs other than y, and the vectors mean, scale and shift for y.
template <class T>
void finish_statistics(const ops::BatchNorm& op, const Cells& shape, const KernelArgs& args, const double* total,
                       float* vectors) {
  const std::int64_t channels = shape.channels;
  const float *gamma = input<float>(args, 1), *beta = input<float>(args, 2);
  const float *moving_mean = input<float>(args, 3), *moving_variance = input<float>(args, 4);
  const double count = static_cast<double>(std::max<std::int64_t>(1, shape.cells));
  // Without rows the moving statistics are unchanged.
  const double kept = shape.cells == 0 ? 1.0 : static_cast<double>(op.momentum);
  for (std::int64_t c = 0; c < channels; ++c) {
    const double pivot = shape.cells == 0 ? 0.0 : static_cast<double>(static_cast<float>(input<T>(args, 0)[c]));
    const double offset = total[c] / count, mean = pivot + offset;
    const double variance = std::max(0.0, total[channels + c] / count - offset * offset);
    const double inverse = 1.0 / std::sqrt(variance + static_cast<double>(op.epsilon));
    vectors[c] = static_cast<float>(mean);
    vectors[channels + c] = scale_of(static_cast<float>(inverse), gamma, c);
    vectors[2 * channels + c] = shift_of(beta, c);
    store(output<float>(args, 1), c, mean);
    store(output<float>(args, 2), c, inverse);
    store(output<float>(args, 3), c, static_cast<double>(moving_mean[c]) * kept + mean * (1 - kept));
    store(output<float>(args, 4), c, static_cast<double>(moving_variance[c]) * kept + variance * (1 - kept));
  }
}

std::unique_ptr<Kernel> make_batch_norm(const ops::BatchNorm& op, const KernelSpecs& specs) {
  const Cells shape(specs, specs.inputs[0]);
  const ChannelSums sums(shape.cells, shape.channels);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    const auto body = [=, attributes = op](const KernelArgs& args) {
      const T* x = input<T>(args, 0);
      auto* total = reinterpret_cast<double*>(args.workspace);
      auto* vectors = reinterpret_cast<float*>(total + sums.doubles());
      add_deviations(shape, sums, x, total);
      finish_statistics<T>(attributes, shape, args, total, vectors);
      const float *scale = vectors + shape.channels, *shift = scale + shape.channels;
      if (T* y = output<T>(args, 0)) normalize(shape, attributes.relu, x, vectors, scale, shift, y);
    };
    return loop_kernel(body, workspace_of(sums.doubles(), 3, shape.channels));
  });
}

template <bool kRelu, class T>
void batch_norm_gradient(const Cells& shape, const ChannelSums& sums, float most, const KernelArgs& args) {
  const auto* const inverse = input<float>(args, 4);
  const std::int64_t channels = shape.channels;
  auto* const total = reinterpret_cast<double*>(args.workspace);
  const GradientVectors vectors(reinterpret_cast<float*>(total + sums.doubles()), channels);
  vectors.put_scale_and_shift(input<float>(args, 2), kRelu ? input<float>(args, 5) : nullptr, inverse);
  const NormalizedGradient<kRelu, T> gradient{input<T>(args, 0), input<T>(args, 1), input<float>(args, 3), vectors,
                                              most};
  gradient.sum(shape, sums, total);
  for (std::int64_t c = 0; c < channels; ++c) {
    store(output<float>(args, 1), c, total[channels + c] * static_cast<double>(inverse[c]));
    store(output<float>(args, 2), c, total[c]);
  }
  vectors.put_means(total, inverse, static_cast<double>(std::max<std::int64_t>(1, shape.cells)));
  if (T* dx = output<T>(args, 0)) gradient.input_gradient(shape, dx);
}

std::unique_ptr<Kernel> make_batch_norm_gradient(const ops::BatchNormGradient& op, const KernelSpecs& specs) {
  const Cells shape(specs, specs.inputs[0]);
  const ChannelSums sums(shape.cells, shape.channels);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    const auto gradient = op.relu ? batch_norm_gradient<true, T> : batch_norm_gradient<false, T>;
    const auto body = [=, most = op.relu.most](const KernelArgs& args) { gradient(shape, sums, most, args); };
    return loop_kernel(body, workspace_of(sums.doubles(), GradientVectors::kRows, shape.channels));
  });
}

}  // namespace

void add_batch_norm_kernels(KernelRegistry& registry) {
  registry.add<ops::BatchNorm>(make_batch_norm);
  registry.add<ops::BatchNormGradient>(make_batch_norm_gradient);
  add_batch_norm_inference_kernels(registry);
}

}  // namespace mirrortrain::cpu
