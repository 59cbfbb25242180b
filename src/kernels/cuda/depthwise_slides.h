#pragma once

#include <cstdint>

#include "kernels/cuda/launch.h"
#include "kernels/cuda/pool2d.h"
#include "kernels/scalar/activations.h"

// Filters of one channel each, slid over images: convolutions and the gradients of their images.
namespace mirrortrain::cuda {

/// Where a tap finds its factor along lines or columns: at `source` for which source * divide = position * multiply +
/// offset + tap * step. Forward and backward, stride and direction change their places.
struct SlideAxis {
  int positions, sources, taps, multiply, divide, offset, step;

  /// -1: none, beyond the image or between what strides visit. kDivide: `divide` where it is known, else 0.
  template <int kDivide>
  __device__ int source(int position, int tap) const {
    const int scaled = position * multiply + offset + tap * step;
    if (scaled < 0) return -1;
    const auto by = static_cast<unsigned>(kDivide > 0 ? kDivide : divide), number = static_cast<unsigned>(scaled);
    const unsigned place = number / by;
    return place < static_cast<unsigned>(sources) && place * by == number ? static_cast<int>(place) : -1;
  }
};

/// Filters over [rows, lines, columns, channels], as a kernel's parameter.
struct Slide {
  std::int64_t rows, channels;
  SlideAxis lines, columns;

  __device__ std::int64_t source(std::int64_t row, int line, int column) const {
    return ((row * lines.sources + line) * columns.sources + column) * channels;
  }
};

/// Calls visit(row of the filter's matrix [taps, channels], line, column) for each tap that is on the image.
template <int kDivide, class Visit>
__device__ inline void each_tap(const Slide& s, const Cell& at, const Visit& visit) {
  for (int ky = 0; ky < s.lines.taps; ++ky) {
    const int line = s.lines.source<kDivide>(at.y, ky);
    for (int kx = 0; line >= 0 && kx < s.columns.taps; ++kx) {
      const int column = s.columns.source<kDivide>(at.x, kx);
      if (column >= 0) visit(ky * s.columns.taps + kx, line, column);
    }
  }
}

/// Stores a cell's sums with the bias, which may be null, and relu.
template <int kPack, class T>
__device__ inline void store_cell(const Cell& out, const T* bias, bool relu, float (&sum)[kPack], T* to) {
  if (bias != nullptr) {
    float added[kPack];
    load(added, bias + out.channel, kPack, true);
    for (int i = 0; i < kPack; ++i) sum[i] += added[i];
  }
  for (int i = 0; relu && i < kPack; ++i) sum[i] = scalar::Relu::forward(sum[i]);
  store(to + out.offset, sum, kPack, true);
}

/// A thread has a pack of channels at a place. kDivide: of lines and columns.
template <int kPack, int kDivide, class T>
__global__ void __launch_bounds__(kBlock)
    slide(Slide s, const T* from, const T* filter, const T* bias, bool relu, T* to) {
  each_cell<kPack>(s.rows, s.lines.positions, s.columns.positions, s.channels, [&](const Cell& out) {
    float sum[kPack] = {}, value[kPack], weight[kPack];
    each_tap<kDivide>(s, out, [&](int tap, int line, int column) {
      load(value, from + s.source(out.row, line, column) + out.channel, kPack, true);
      load(weight, filter + tap * s.channels + out.channel, kPack, true);
#pragma unroll
      for (int i = 0; i < kPack; ++i) sum[i] += value[i] * weight[i];
    });
    store_cell(out, bias, relu, sum, to);
  });
}

/// Stores the sums of adjacent places of a line, from `first` on.
template <int kPack, int kPlaces, class T>
__device__ inline void store_places(const Slide& s, const Cell& tile, int first, const T* bias, bool relu,
                                    float (&sum)[kPlaces][kPack], T* to) {
  float added[kPack] = {};
  if (bias != nullptr) load(added, bias + tile.channel, kPack, true);
  T* const out = to + ((tile.row * s.lines.positions + tile.y) * s.columns.positions + first) * s.channels;
#pragma unroll
  for (int place = 0; place < kPlaces; ++place) {
    if (first + place >= s.columns.positions) continue;
#pragma unroll
    for (int i = 0; i < kPack; ++i) {
      sum[place][i] += added[i];
      if (relu) sum[place][i] = scalar::Relu::forward(sum[place][i]);
    }
    store(out + place * s.channels + tile.channel, sum[place], kPack, true);
  }
}

/// The same for windows of 3 x 3 neighbours. A thread has adjacent places of a line, which share what they read.
template <int kPack, int kStride, class T>
__global__ void __launch_bounds__(kBlock)
    slide_3x3(Slide s, const T* from, const T* filter, const T* bias, bool relu, T* to) {
  constexpr int kPlaces = kStride == 1 ? 4 : 2, kRead = (kPlaces - 1) * kStride + 3;
  const int across = (s.columns.positions + kPlaces - 1) / kPlaces;
  const bool flipped = s.columns.step < 0;
  const int before = s.columns.offset + (flipped ? -2 : 0);
  each_cell<kPack>(s.rows, s.lines.positions, across, s.channels, [&](const Cell& tile) {
    const int first = tile.x * kPlaces, first_read = first * kStride + before;
    float sum[kPlaces][kPack] = {};
    for (int ky = 0; ky < 3; ++ky) {
      const int line = s.lines.source<0>(tile.y, ky);
      if (line < 0) continue;
      float weight[3][kPack];
#pragma unroll
      for (int kx = 0; kx < 3; ++kx) {
        load(weight[kx], filter + (ky * 3 + (flipped ? 2 - kx : kx)) * s.channels + tile.channel, kPack, true);
      }
      const T* const source = from + s.source(tile.row, line, 0) + tile.channel;
#pragma unroll
      for (int c = 0; c < kRead; ++c) {
        const int column = first_read + c;
        if (column < 0 || column >= s.columns.sources) continue;
        float value[kPack];
        load(value, source + column * s.channels, kPack, true);
#pragma unroll
        for (int place = 0; place < kPlaces; ++place) {
          const int kx = c - place * kStride;
          if (kx < 0 || kx > 2) continue;
#pragma unroll
          for (int i = 0; i < kPack; ++i) sum[place][i] += value[i] * weight[kx][i];
        }
      }
    }
    store_places(s, tile, first, bias, relu, sum, to);
  });
}

/// The same for windows of other neighbours with stride 1: what a place reads is shifted to the one before it.
template <int kPack, class T>
__global__ void __launch_bounds__(kBlock)
    slide_neighbours(Slide s, const T* from, const T* filter, const T* bias, bool relu, T* to) {
  constexpr int kPlaces = 4;
  const int across = (s.columns.positions + kPlaces - 1) / kPlaces, last_tap = s.columns.taps - 1;
  const bool flipped = s.columns.step < 0;
  const int before = s.columns.offset - (flipped ? last_tap : 0);
  each_cell<kPack>(s.rows, s.lines.positions, across, s.channels, [&](const Cell& tile) {
    const int first = tile.x * kPlaces, first_read = first + before;
    float sum[kPlaces][kPack] = {};
    for (int ky = 0; ky < s.lines.taps; ++ky) {
      const int line = s.lines.source<0>(tile.y, ky);
      if (line < 0) continue;
      const T* const source = from + s.source(tile.row, line, 0) + tile.channel;
      const T* const weights = filter + ky * s.columns.taps * s.channels + tile.channel;
      float window[kPlaces][kPack] = {};
      const auto read = [&](int column, float(&value)[kPack]) {
        if (column >= 0 && column < s.columns.sources) {
          load(value, source + column * s.channels, kPack, true);
        } else {
          for (float& one : value) one = 0.0f;
        }
      };
#pragma unroll
      for (int place = 1; place < kPlaces; ++place) read(first_read + place - 1, window[place]);
      for (int kx = 0; kx <= last_tap; ++kx) {
#pragma unroll
        for (int place = 1; place < kPlaces; ++place) {
#pragma unroll
          for (int i = 0; i < kPack; ++i) window[place - 1][i] = window[place][i];
        }
        read(first_read + kx + kPlaces - 1, window[kPlaces - 1]);
        float weight[kPack];
        load(weight, weights + (flipped ? last_tap - kx : kx) * s.channels, kPack, true);
#pragma unroll
        for (int place = 0; place < kPlaces; ++place) {
#pragma unroll
          for (int i = 0; i < kPack; ++i) sum[place][i] += window[place][i] * weight[i];
        }
      }
    }
    store_places(s, tile, first, bias, relu, sum, to);
  });
}

template <int kPack, class T>
void enqueue_slide(Stream& stream, const Slide& s, const T* from, const T* filter, const T* bias, bool relu, T* to) {
  const SlideAxis &y = s.lines, &x = s.columns;
  const auto enqueue = [&](auto kernel, int places) {
    const std::int64_t items = s.rows * y.positions * ((x.positions + places - 1) / places) * s.channels / kPack;
    launch(stream, blocks_for(items), kBlock, 0, kernel, s, from, filter, bias, relu, to);
  };
  if (x.divide == 1 && (x.step == 1 || x.step == -1)) {
    const bool is_3x3 = y.taps == 3 && x.taps == 3;
    if (is_3x3 && x.multiply == 1) return enqueue(slide_3x3<kPack, 1, T>, 4);
    if (is_3x3 && x.multiply == 2) return enqueue(slide_3x3<kPack, 2, T>, 2);
    if (x.multiply == 1) return enqueue(slide_neighbours<kPack, T>, 4);
  }
  const int divide = x.divide == y.divide ? x.divide : 0;
  enqueue(divide == 1 ? slide<kPack, 1, T> : divide == 2 ? slide<kPack, 2, T> : slide<kPack, 0, T>, 1);
}

}  // namespace mirrortrain::cuda
