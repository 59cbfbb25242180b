#pragma once

#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/stream_kernel.h"

// Shared by batch normalizations with batch statistics, whether the batch is the replica's or the global one.
namespace mirrortrain::cuda {

__device__ inline void put(float* to, std::int64_t channel, double value) {
  if (to != nullptr) to[channel] = static_cast<float>(value);
}

/// The sums of x - pivot and of its square, where the pivot is the first cell: near the mean even if that is far from
/// 0. With a mask (graph/ops/mask.h), only of the cells that count.
template <class T>
struct Deviations {
  const T* x;
  const float* mask = nullptr;
  std::int64_t channels = 1;

  template <int kCount>
  __device__ auto at(std::int64_t channel) const {
    Pack<float, kCount> pivot;
    for (int i = 0; i < kCount; ++i) pivot.element[i] = static_cast<float>(x[channel + i]);
    return [=, from = *this](std::int64_t element, float(&first)[kCount], float(&second)[kCount]) {
      if (from.mask != nullptr && from.mask[element / from.channels] == 0) return;
      float value[kCount];
      load(value, from.x + element, kCount, true);
      for (int i = 0; i < kCount; ++i) {
        const float deviation = value[i] - pivot.element[i];
        first[i] += deviation;
        second[i] += deviation * deviation;
      }
    };
  }
};

/// The backward pass of a relu or relu6 fused into a normalization: y is recomputed, which costs less than reading it.
/// `gamma` and `beta` may be null.
struct RectifiedChannels {
  ops::Rectifier relu;
  const float *inverse = nullptr, *gamma = nullptr, *beta = nullptr;
};

/// A thread's channels of RectifiedChannels.
template <int kCount>
struct BeforeRelu {
  bool on;
  float most;
  float scale[kCount] = {}, shift[kCount] = {};

  __device__ BeforeRelu(const RectifiedChannels& from, std::int64_t channel) : on(from.relu.on), most(from.relu.most) {
    if (!on) return;
    load_channels(scale, from.gamma, channel, 1.0f);
    load_channels(shift, from.beta, channel);
    for (int i = 0; i < kCount; ++i) scale[i] *= from.inverse[channel + i];
  }

  /// The gradient before relu, from that of y; deviation = x - mean.
  __device__ float operator()(float gradient, float deviation, int i) const {
    return on ? rectified(gradient, deviation * scale[i] + shift[i], most) : gradient;
  }
};

/// The sums of the gradient and of its product with x - mean.
template <class T>
struct GradientSums {
  const T *x, *dy;
  const float* mean;
  RectifiedChannels relu;

  template <int kCount>
  __device__ auto at(std::int64_t channel) const {
    Pack<float, kCount> middle;
    for (int i = 0; i < kCount; ++i) middle.element[i] = mean[channel + i];
    const BeforeRelu<kCount> before_relu(relu, channel);
    return [=, from = *this](std::int64_t element, float(&first)[kCount], float(&second)[kCount]) {
      float gradient[kCount], value[kCount];
      load(gradient, from.dy + element, kCount, true);
      load(value, from.x + element, kCount, true);
      for (int i = 0; i < kCount; ++i) {
        const float deviation = value[i] - middle.element[i], before = before_relu(gradient[i], deviation, i);
        first[i] += before;
        second[i] += before * deviation;
      }
    };
  }
};

/// The vectors that input_gradient needs, of a channel: scale, mean gradient and slope.
__device__ inline void put_gradient_vectors(std::int64_t c, std::int64_t channels, const float* gamma,
                                            const float* inverse, double gradients, double products, double count,
                                            float* vectors) {
  const auto deviation = static_cast<double>(inverse[c]);
  vectors[c] = (gamma == nullptr ? 1.0f : gamma[c]) * inverse[c];
  vectors[channels + c] = static_cast<float>(gradients / count);
  vectors[2 * channels + c] = static_cast<float>(products * deviation * deviation / count);
}

/// With g the gradient before relu: dx = scale (g - mean(g) - (x - mean) inverse^2 mean(g (x - mean))). For cells that
/// a mask excludes from the statistics it is only scale g.
template <int kCount, class T>
__global__ void __launch_bounds__(kBlock)
    write_input_gradient(Cells shape, const T* x, const T* dy, const float* mean, RectifiedChannels relu,
                         const float* vectors, const float* mask, T* dx) {
  const std::int64_t channel = channel_of_thread<kCount>();
  if (channel >= shape.channels) return;
  float middle[kCount], scale[kCount], mean_gradient[kCount], slope[kCount], value[kCount], gradient[kCount];
  load_channels(middle, mean, channel);
  load_channels(scale, vectors, channel);
  load_channels(mean_gradient, vectors + shape.channels, channel);
  load_channels(slope, vectors + 2 * shape.channels, channel);
  const BeforeRelu<kCount> before_relu(relu, channel);
#pragma unroll 2
  for (std::int64_t cell = first_cell(); cell < shape.cells; cell += cell_step()) {
    const std::int64_t at = cell * shape.channels + channel;
    load(value, x + at, kCount, true);
    load(gradient, dy + at, kCount, true);
    const bool counts = mask == nullptr || mask[cell] != 0;
    for (int i = 0; i < kCount; ++i) {
      const float deviation = value[i] - middle[i], before = before_relu(gradient[i], deviation, i);
      gradient[i] = scale[i] * (counts ? before - mean_gradient[i] - deviation * slope[i] : before);
    }
    store(dx + at, gradient, kCount, true);
  }
}

template <int kCount, class T>
void input_gradient(Stream& stream, const Cells& shape, const T* x, const T* dy, const float* mean,
                    const RectifiedChannels& relu, const float* vectors, T* dx, const float* mask = nullptr) {
  const ChannelBlocks blocks(shape.channels, kCount);
  launch(stream, blocks.grid_of_loops(shape.cells), blocks.block(), 0, write_input_gradient<kCount, T>, shape, x, dy,
         mean, relu, vectors, mask, dx);
}

}  // namespace mirrortrain::cuda
