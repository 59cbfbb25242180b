#include "graph/ops/synchronized_batch_norm.h"

#include <algorithm>
#include <cmath>

#include "kernels/cpu/batch_norm_gradient.h"
#include "kernels/cpu/registry.h"
#include "kernels/scalar/batch_renorm.h"
#include "kernels/scalar/batch_sums.h"

namespace mirrortrain::cpu {
namespace {

std::unique_ptr<Kernel> make_sums(const ops::BatchNormSums& op, const KernelSpecs& specs) {
  const Cells shape(specs, specs.inputs[0]);
  const ChannelSums sums(shape.cells, shape.channels);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    const auto body = [=](const KernelArgs& args) {
      const T* x = input<T>(args, 0);
      auto* deviations = reinterpret_cast<double*>(args.workspace);
      auto* to = output<double>(args, 0);
      if (to == nullptr) return;
      std::int64_t cells = shape.cells;
      if (const auto* const mask = input<float>(args, 1)) {
        add_masked_deviations(shape, sums, x, mask, deviations);
        cells = std::count_if(mask, mask + shape.cells, [](float counts) { return counts != 0; });
      } else {
        add_deviations(shape, sums, x, deviations);
      }
      const std::int64_t channels = shape.channels;
      for (std::int64_t c = 0; c < channels; ++c) {
        const double pivot = shape.cells == 0 ? 0.0 : static_cast<double>(static_cast<float>(x[c]));
        scalar::put_batch_sums(c, channels, cells, pivot, deviations[c], deviations[channels + c], to);
      }
    };
    return loop_kernel(body, workspace_of(sums.doubles(), 0, shape.channels));
  });
}

std::unique_ptr<Kernel> make_by_sums(const ops::BatchNormBySums& op, const KernelSpecs& specs) {
  const Cells shape(specs, specs.inputs[0]);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    const auto body = [=, epsilon = static_cast<double>(op.epsilon), relu = op.relu](const KernelArgs& args) {
      const float *gamma = input<float>(args, 1), *beta = input<float>(args, 2);
      const auto* sums = input<double>(args, 3);
      auto* means = reinterpret_cast<float*>(args.workspace);
      float *scale = means + shape.channels, *shift = scale + shape.channels;
      for (std::int64_t c = 0; c < shape.channels; ++c) {
        const scalar::BatchStatistics batch = scalar::batch_statistics(c, shape.channels, sums);
        const double inverse = 1.0 / std::sqrt(batch.variance + epsilon);
        means[c] = static_cast<float>(batch.mean);
        scale[c] = scale_of(static_cast<float>(inverse), gamma, c);
        shift[c] = shift_of(beta, c);
        store(output<float>(args, 1), c, batch.mean);
        store(output<float>(args, 2), c, inverse);
      }
      if (T* y = output<T>(args, 0)) normalize(shape, relu, input<T>(args, 0), means, scale, shift, y);
    };
    return loop_kernel(body, workspace_of(0, 3, shape.channels));
  });
}

std::unique_ptr<Kernel> make_moving(const ops::MovingStatistics& op, const KernelSpecs& specs) {
  const std::int64_t channels = specs.inputs[1].elements();
  return loop_kernel([=, momentum = op.momentum](const KernelArgs& args) {
    const auto* sums = input<double>(args, 0);
    const float *mean = input<float>(args, 1), *variance = input<float>(args, 2);
    for (std::int64_t c = 0; c < channels; ++c) {
      const scalar::BatchStatistics batch = scalar::batch_statistics(c, channels, sums);
      store(output<float>(args, 0), c, scalar::moved(mean[c], batch.mean, momentum));
      store(output<float>(args, 1), c, scalar::moved(variance[c], batch.variance, momentum));
    }
  });
}

std::unique_ptr<Kernel> make_renorm(const ops::RenormStatistics& op, const KernelSpecs& specs) {
  const std::int64_t channels = specs.inputs[1].elements();
  return loop_kernel([=, options = op.options](const KernelArgs& args) {
    const auto* sums = input<double>(args, 0);
    for (std::int64_t c = 0; c < channels; ++c) {
      const scalar::RenormBefore before{input<float>(args, 1)[c], input<float>(args, 2)[c], input<float>(args, 3)[c],
                                        input<float>(args, 4)[c]};
      const scalar::Renormed now = scalar::renormed(options, scalar::batch_statistics(c, channels, sums), before);
      const double values[] = {
          now.scale,          now.shift, now.renorm_mean, now.renorm_deviation, now.moving_mean, now.moving_deviation,
          now.moving_variance};
      for (std::size_t i = 0; i < std::size(values); ++i) store(output<float>(args, i), c, values[i]);
    }
  });
}

template <bool kRelu, class T>
void gradient_sums(const Cells& shape, const ChannelSums& sums, float most, const KernelArgs& args) {
  const auto* const inverse = input<float>(args, 3);
  const std::int64_t channels = shape.channels;
  auto* const total = reinterpret_cast<double*>(args.workspace);
  const GradientVectors vectors(reinterpret_cast<float*>(total + sums.doubles()), channels);
  if (kRelu) vectors.put_scale_and_shift(input<float>(args, 4), input<float>(args, 5), inverse);
  const NormalizedGradient<kRelu, T> gradient{input<T>(args, 0), input<T>(args, 1), input<float>(args, 2), vectors,
                                              most};
  gradient.sum(shape, sums, total);
  if (auto* to = output<double>(args, 0)) std::copy_n(total, 2 * channels, to);
  for (std::int64_t c = 0; c < channels; ++c) {
    store(output<float>(args, 1), c, total[channels + c] * static_cast<double>(inverse[c]));
    store(output<float>(args, 2), c, total[c]);
  }
}

std::unique_ptr<Kernel> make_gradient_sums(const ops::BatchNormGradientSums& op, const KernelSpecs& specs) {
  const Cells shape(specs, specs.inputs[0]);
  const ChannelSums sums(shape.cells, shape.channels);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    const auto add = op.relu ? gradient_sums<true, T> : gradient_sums<false, T>;
    return loop_kernel([=, most = op.relu.most](const KernelArgs& args) { add(shape, sums, most, args); },
                       workspace_of(sums.doubles(), GradientVectors::kRows, shape.channels));
  });
}

template <bool kRelu, class T>
void gradient_by_sums(const Cells& shape, float most, const KernelArgs& args) {
  T* dx = output<T>(args, 0);
  if (dx == nullptr) return;
  const auto* const inverse = input<float>(args, 4);
  const GradientVectors vectors(reinterpret_cast<float*>(args.workspace), shape.channels);
  vectors.put_scale_and_shift(input<float>(args, 2), kRelu ? input<float>(args, 7) : nullptr, inverse);
  vectors.put_means(input<double>(args, 6), inverse, scalar::cells_of(input<double>(args, 5), shape.channels));
  const NormalizedGradient<kRelu, T> gradient{input<T>(args, 0), input<T>(args, 1), input<float>(args, 3), vectors,
                                              most};
  gradient.input_gradient(shape, dx, input<float>(args, 8));
}

std::unique_ptr<Kernel> make_gradient_by_sums(const ops::BatchNormGradientBySums& op, const KernelSpecs& specs) {
  const Cells shape(specs, specs.inputs[0]);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    const auto gradient = op.relu ? gradient_by_sums<true, T> : gradient_by_sums<false, T>;
    return loop_kernel([=, most = op.relu.most](const KernelArgs& args) { gradient(shape, most, args); },
                       workspace_of(0, GradientVectors::kRows, shape.channels));
  });
}

}  // namespace

void add_synchronized_batch_norm_kernels(KernelRegistry& registry) {
  registry.add<ops::BatchNormSums>(make_sums);
  registry.add<ops::BatchNormBySums>(make_by_sums);
  registry.add<ops::MovingStatistics>(make_moving);
  registry.add<ops::RenormStatistics>(make_renorm);
  registry.add<ops::BatchNormGradientSums>(make_gradient_sums);
  registry.add<ops::BatchNormGradientBySums>(make_gradient_by_sums);
}

}  // namespace mirrortrain::cpu
