#include "graph/ops/batch_norm.h"
#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/merge.h"
#include "kernels/cuda/stream_kernel.h"

namespace mirrortrain::cuda {
namespace {

__device__ void put(float* to, std::int64_t channel, double value) {
  if (to != nullptr) to[channel] = static_cast<float>(value);
}

/// The sums of x - pivot and of its square, where the pivot is the first cell: near the mean, whatever the mean is.
template <class T>
struct Deviations {
  const T* x;

  template <int kCount>
  __device__ auto at(std::int64_t channel) const {
    Pack<float, kCount> pivot;
    for (int i = 0; i < kCount; ++i) pivot.element[i] = static_cast<float>(x[channel + i]);
    return [=, from = x](std::int64_t element, float(&first)[kCount], float(&second)[kCount]) {
      float value[kCount];
      load(value, from + element, kCount, true);
      for (int i = 0; i < kCount; ++i) {
        const float deviation = value[i] - pivot.element[i];
        first[i] += deviation;
        second[i] += deviation * deviation;
      }
    };
  }
};

/// Turns the sums into the outputs beside y, and into the vectors mean and scale that y needs.
template <class T>
struct FinishStatistics {
  std::int64_t cells, channels;
  float momentum, epsilon;
  const T* x;
  const float *gamma, *moving_mean, *moving_variance;
  float *mean_of_batch, *inverse_of_batch, *new_mean, *new_variance;  ///< may be null
  float* vectors;

  __device__ void operator()(std::int64_t c, double deviations, double squares) const {
    const auto count = static_cast<double>(cells > 0 ? cells : 1);
    // Without rows the moving statistics stay.
    const double kept = cells == 0 ? 1.0 : static_cast<double>(momentum);
    const double pivot = cells == 0 ? 0.0 : static_cast<double>(static_cast<float>(x[c]));
    const double offset = deviations / count, mean = pivot + offset, spread = squares / count - offset * offset;
    const double variance = spread > 0.0 ? spread : spread < 0.0 ? 0.0 : spread;  // NaN stays
    const double inverse = 1.0 / sqrt(variance + static_cast<double>(epsilon));
    vectors[c] = static_cast<float>(mean);
    vectors[channels + c] = static_cast<float>(inverse) * (gamma == nullptr ? 1.0f : gamma[c]);
    put(mean_of_batch, c, mean);
    put(inverse_of_batch, c, inverse);
    put(new_mean, c, static_cast<double>(moving_mean[c]) * kept + mean * (1 - kept));
    put(new_variance, c, static_cast<double>(moving_variance[c]) * kept + variance * (1 - kept));
  }
};

/// The gradient before relu; `y` is null where there was none.
template <int kCount, class T>
__device__ void load_gradient(float (&gradient)[kCount], const T* dy, const T* y, std::int64_t element) {
  load(gradient, dy + element, kCount, true);
  if (y == nullptr) return;
  float output[kCount];
  load(output, y + element, kCount, true);
  for (int i = 0; i < kCount; ++i) gradient[i] = output[i] > 0.0f ? gradient[i] : 0.0f;
}

/// The sums of the gradient and of its product with x - mean.
template <class T>
struct GradientSums {
  const T *x, *dy, *y;
  const float* mean;

  template <int kCount>
  __device__ auto at(std::int64_t channel) const {
    Pack<float, kCount> middle;
    for (int i = 0; i < kCount; ++i) middle.element[i] = mean[channel + i];
    return [=, from = *this](std::int64_t element, float(&first)[kCount], float(&second)[kCount]) {
      float gradient[kCount], value[kCount];
      load_gradient(gradient, from.dy, from.y, element);
      load(value, from.x + element, kCount, true);
      for (int i = 0; i < kCount; ++i) {
        first[i] += gradient[i];
        second[i] += gradient[i] * (value[i] - middle.element[i]);
      }
    };
  }
};

/// Turns the sums into the gradients of gamma and beta, and into the vectors scale, mean gradient and slope.
struct FinishGradient {
  std::int64_t cells, channels;
  const float *gamma, *inverse;
  float *gamma_gradient, *beta_gradient;  ///< may be null
  float* vectors;

  __device__ void operator()(std::int64_t c, double gradients, double products) const {
    const auto count = static_cast<double>(cells > 0 ? cells : 1);
    const double by_deviation = products * static_cast<double>(inverse[c]);
    vectors[c] = (gamma == nullptr ? 1.0f : gamma[c]) * inverse[c];
    vectors[channels + c] = static_cast<float>(gradients / count);
    vectors[2 * channels + c] = static_cast<float>(by_deviation * static_cast<double>(inverse[c]) / count);
    put(gamma_gradient, c, by_deviation);
    put(beta_gradient, c, gradients);
  }
};

/// With g the gradient before relu: dx = scale (g - mean(g) - (x - mean) inverse^2 mean(g (x - mean))).
template <int kCount, class T>
__global__ void __launch_bounds__(kBlock)
    input_gradient(Cells shape, const T* x, const T* dy, const T* y, const float* mean, const float* vectors, T* dx) {
  const std::int64_t channel = channel_of_thread<kCount>();
  if (channel >= shape.channels) return;
  float middle[kCount], scale[kCount], mean_gradient[kCount], slope[kCount], value[kCount], gradient[kCount];
  load_channels(middle, mean, channel);
  load_channels(scale, vectors, channel);
  load_channels(mean_gradient, vectors + shape.channels, channel);
  load_channels(slope, vectors + 2 * shape.channels, channel);
#pragma unroll 2
  for (std::int64_t cell = first_cell(); cell < shape.cells; cell += cell_step()) {
    const std::int64_t at = cell * shape.channels + channel;
    load(value, x + at, kCount, true);
    load_gradient(gradient, dy, y, at);
    for (int i = 0; i < kCount; ++i) {
      const float along = (value[i] - middle[i]) * slope[i];
      gradient[i] = scale[i] * (gradient[i] - mean_gradient[i] - along);
    }
    store(dx + at, gradient, kCount, true);
  }
}

/// Room for the sums of any pack, then `vectors` of a float per channel.
template <class T>
std::size_t workspace_of(const Cells& shape, int vectors) {
  return sums_bytes<T>(shape) + static_cast<std::size_t>(vectors * shape.channels) * sizeof(float);
}

template <class T>
void batch_norm(const ops::BatchNorm& op, const Cells& shape, Stream& stream, const KernelArgs& args) {
  const T* x = input<T>(args, 0);
  T* y = output<T>(args, 0);
  auto* sums = reinterpret_cast<double*>(args.workspace);
  auto* vectors = reinterpret_cast<float*>(args.workspace + sums_bytes<T>(shape));
  const FinishStatistics<T> finish{shape.cells,
                                   shape.channels,
                                   op.momentum,
                                   op.epsilon,
                                   x,
                                   input<float>(args, 1),
                                   input<float>(args, 3),
                                   input<float>(args, 4),
                                   output<float>(args, 1),
                                   output<float>(args, 2),
                                   output<float>(args, 3),
                                   output<float>(args, 4),
                                   vectors};
  with_pack<T>(shape.channels % kPackOf<T> == 0 && in_packs(x), [&]<class Count>(Count) {
    ChannelSums(shape, Count::value).run<Count::value>(stream, Deviations<T>{x}, finish, sums);
  });
  if (y == nullptr) return;
  normalize(stream, shape, op.relu, x, vectors, {vectors + shape.channels}, input<float>(args, 2), input<T>(args, 5),
            y);
}

template <class T>
void batch_norm_gradient(bool relu, const Cells& shape, Stream& stream, const KernelArgs& args) {
  const T *x = input<T>(args, 0), *dy = input<T>(args, 1), *y = relu ? input<T>(args, 5) : nullptr;
  const float *mean = input<float>(args, 3), *inverse = input<float>(args, 4);
  T* dx = output<T>(args, 0);
  auto* sums = reinterpret_cast<double*>(args.workspace);
  auto* vectors = reinterpret_cast<float*>(args.workspace + sums_bytes<T>(shape));
  const FinishGradient finish{shape.cells, shape.channels,         input<float>(args, 2),
                              inverse,     output<float>(args, 1), output<float>(args, 2),
                              vectors};
  with_pack<T>(shape.channels % kPackOf<T> == 0 && in_packs(x, dy, y, dx), [&]<class Count>(Count) {
    ChannelSums(shape, Count::value).run<Count::value>(stream, GradientSums<T>{x, dy, y, mean}, finish, sums);
    if (dx == nullptr) return;
    const ChannelBlocks blocks(shape.channels, Count::value);
    launch(stream, blocks.grid_of_loops(shape.cells), blocks.block(), 0, input_gradient<Count::value, T>, shape, x, dy,
           y, mean, vectors, dx);
  });
}

std::unique_ptr<Kernel> make_batch_norm(const ops::BatchNorm& op, const KernelSpecs& specs) {
  const Cells shape(specs.inputs[0]);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel(
        [shape, attributes = op](Stream& stream, const KernelArgs& args) {
          batch_norm<T>(attributes, shape, stream, args);
        },
        workspace_of<T>(shape, 2));
  });
}

std::unique_ptr<Kernel> make_batch_norm_gradient(const ops::BatchNormGradient& op, const KernelSpecs& specs) {
  const Cells shape(specs.inputs[0]);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel(
        [shape, relu = op.relu](Stream& stream, const KernelArgs& args) {
          batch_norm_gradient<T>(relu, shape, stream, args);
        },
        workspace_of<T>(shape, 3));
  });
}

}  // namespace

void add_batch_norm_kernels(KernelRegistry& registry) {
  registry.add<ops::BatchNorm>(make_batch_norm);
  registry.add<BatchNormOfResidual>(make_batch_norm);
  registry.add<ops::BatchNormGradient>(make_batch_norm_gradient);
}

}  // namespace mirrortrain::cuda
