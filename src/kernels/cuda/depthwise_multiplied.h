#pragma once

#include <cstdint>

#include "kernels/cuda/depthwise_slides.h"

// Convolutions of each channel by itself with several filters, as a depth multiplier gives them: the filters' outputs
// are neighbours.
namespace mirrortrain::cuda {

/// The input channels that a pack of outputs reads.
struct RepeatedChannels {
  std::int64_t first;  ///< that of the first output
  int rest, filters;   ///< rest: which of its filters' outputs that is

  __device__ RepeatedChannels(std::int64_t output, int of_each)
      : first(output / of_each), rest(static_cast<int>(output - first * of_each)), filters(of_each) {}

  /// Each output's input, from `place`, where the input's channels begin.
  template <int kPack, class T>
  __device__ void load(float (&to)[kPack], const T* place) const {
    const T* from = place + first;
    int left = filters - rest;
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      to[i] = static_cast<float>(*from);
      if (--left > 0 || i + 1 == kPack) continue;
      left = filters;
      ++from;
    }
  }
};

/// As slide(), of `filters` outputs for each channel of `from`: a thread has a pack of outputs. `s`: with the outputs'
/// channels.
template <int kPack, class T>
__global__ void __launch_bounds__(kBlock)
    slide_filters(Slide s, int filters, const T* from, const T* filter, const T* bias, bool relu, T* to) {
  const std::int64_t inputs = s.channels / filters;
  each_cell<kPack>(s.rows, s.lines.positions, s.columns.positions, s.channels, [&](const Cell& out) {
    const RepeatedChannels read(out.channel, filters);
    float sum[kPack] = {}, value[kPack], weight[kPack];
    each_tap<0>(s, out, [&](int tap, int line, int column) {
      read.load(value, from + ((out.row * s.lines.sources + line) * s.columns.sources + column) * inputs);
      load(weight, filter + tap * s.channels + out.channel, kPack, true);
#pragma unroll
      for (int i = 0; i < kPack; ++i) sum[i] += value[i] * weight[i];
    });
    store_cell(out, bias, relu, sum, to);
  });
}

/// The gradient of the image: each of its channels adds up what its filters' outputs give. A thread has a pack of the
/// image's channels. `s`: with these.
template <int kPack, class T>
__global__ void __launch_bounds__(kBlock)
    slide_filters_back(Slide s, int filters, const T* gradient, const T* filter, T* to) {
  const std::int64_t outputs = s.channels * filters;
  each_cell<kPack>(s.rows, s.lines.positions, s.columns.positions, s.channels, [&](const Cell& image) {
    float sum[kPack] = {};
    each_tap<0>(s, image, [&](int tap, int line, int column) {
      const std::int64_t first = image.channel * filters;
      const T* const value =
          gradient + ((image.row * s.lines.sources + line) * s.columns.sources + column) * outputs + first;
      const T* const weight = filter + tap * outputs + first;
#pragma unroll
      for (int i = 0; i < kPack; ++i) {
        for (int k = i * filters; k < (i + 1) * filters; ++k) {
          sum[i] += static_cast<float>(value[k]) * static_cast<float>(weight[k]);
        }
      }
    });
    store(to + image.offset, sum, kPack, true);
  });
}

}  // namespace mirrortrain::cuda
