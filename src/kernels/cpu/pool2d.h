#pragma once

#include <cstdint>

#include "graph/ops/pool2d.h"
#include "kernels/cpu/loops.h"

namespace mirrortrain::cpu {

/// The sizes of a pooling from [rows, height, width, channels] to [rows, out_height, out_width, channels].
struct PoolShape {
  std::int64_t rows, height, width, channels, out_height, out_width;
  std::int64_t window_height, window_width, stride_height, stride_width, pad_top, pad_left;

  PoolShape(const ops::Pool2dAttributes& pool, const Shape& input, const Shape& output);

  std::int64_t input_row() const { return height * width * channels; }
  std::int64_t output_row() const { return out_height * out_width * channels; }
};

/// Numbers [begin, end) on one axis.
struct Range {
  std::int64_t begin, end;
};

/// The lines (columns) of the image that the windows of output line (column) `out` see.
Range lines_of(const PoolShape& shape, std::int64_t out);
Range columns_of(const PoolShape& shape, std::int64_t out);

/// The output lines (columns) whose windows see a line (column) of the image.
Range lines_seeing(const PoolShape& shape, std::int64_t line);
Range columns_seeing(const PoolShape& shape, std::int64_t column);

/// Channels that are worked on at a time, in buffers on the stack.
inline constexpr std::int64_t kBlock = 64;

/// Calls body(row, out_y, out_x, first channel, channels) for blocks of the channels of every cell [rows, height,
/// width].
template <class Body>
void for_cells(int threads, std::int64_t rows, std::int64_t height, std::int64_t width, std::int64_t channels,
               const Body& body) {
  parallel_for(threads, rows, rows_per_thread(height * width * channels), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x) {
          for (std::int64_t c = 0; c < channels; c += kBlock) body(row, y, x, c, std::min(kBlock, channels - c));
        }
      }
    }
  });
}

/// Calls body(out_y, out_x, number) for the windows that see (line, column), which is their element `number`.
template <class Body>
void for_covering(const PoolShape& s, std::int64_t line, std::int64_t column, const Body& body) {
  const Range ys = lines_seeing(s, line), xs = columns_seeing(s, column);
  for (std::int64_t y = ys.begin; y < ys.end; ++y) {
    for (std::int64_t x = xs.begin; x < xs.end; ++x) {
      const std::int64_t window_line = line - (y * s.stride_height - s.pad_top);
      body(y, x, window_line * s.window_width + (column - (x * s.stride_width - s.pad_left)));
    }
  }
}

void add_max_pool2d_kernels(KernelRegistry& registry);
void add_average_pool2d_kernels(KernelRegistry& registry);

}  // namespace mirrortrain::cpu
