#pragma once

#include "kernels/cuda/batch_norm.h"
#include "kernels/cuda/stream_kernel.h"

// What batch normalization with the statistics of a batch is made of, whether the batch is the replica's or the run's.
namespace mirrortrain::cuda {

__device__ inline void put(float* to, std::int64_t channel, double value) {
  if (to != nullptr) to[channel] = static_cast<float>(value);
}

/// The sums of x - pivot and of its square, where the pivot is the first cell: near the mean, whatever the mean is.
/// With a mask (graph/ops/mask.h), of the cells that count.
template <class T>
struct Deviations {
  const T* x;
  const float* mask = nullptr;
  std::int64_t channels = 1;

  template <int kCount>
  __device__ auto at(std::int64_t channel) const {
    Pack<float, kCount> pivot;
    for (int i = 0; i < kCount; ++i) pivot.element[i] = static_cast<float>(x[channel + i]);
    return [=, from = *this](std::int64_t element, float (&first)[kCount], float (&second)[kCount]) {
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
    return [=, from = *this](std::int64_t element, float (&first)[kCount], float (&second)[kCount]) {
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

/// The vectors that input_gradient needs, of a channel: scale, mean gradient and slope.
__device__ inline void put_gradient_vectors(std::int64_t c, std::int64_t channels, const float* gamma,
                                            const float* inverse, double gradients, double products, double count,
                                            float* vectors) {
  const auto deviation = static_cast<double>(inverse[c]);
  vectors[c] = (gamma == nullptr ? 1.0f : gamma[c]) * inverse[c];
  vectors[channels + c] = static_cast<float>(gradients / count);
  vectors[2 * channels + c] = static_cast<float>(products * deviation * deviation / count);
}

/// With g the gradient before relu: dx = scale (g - mean(g) - (x - mean) inverse^2 mean(g (x - mean))). Cells that a
/// mask leaves out of the statistics have scale g alone.
template <int kCount, class T>
__global__ void __launch_bounds__(kBlock)
    write_input_gradient(Cells shape, const T* x, const T* dy, const T* y, const float* mean, const float* vectors,
                         const float* mask, T* dx) {
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
    const bool counts = mask == nullptr || mask[cell] != 0;
    for (int i = 0; i < kCount; ++i) {
      const float along = (value[i] - middle[i]) * slope[i];
      gradient[i] = scale[i] * (counts ? gradient[i] - mean_gradient[i] - along : gradient[i]);
    }
    store(dx + at, gradient, kCount, true);
  }
}

template <int kCount, class T>
void input_gradient(Stream& stream, const Cells& shape, const T* x, const T* dy, const T* y, const float* mean,
                    const float* vectors, T* dx, const float* mask = nullptr) {
  const ChannelBlocks blocks(shape.channels, kCount);
  launch(stream, blocks.grid_of_loops(shape.cells), blocks.block(), 0, write_input_gradient<kCount, T>, shape, x, dy, y,
         mean, vectors, mask, dx);
}

}  // namespace mirrortrain::cuda
