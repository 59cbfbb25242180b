#pragma once

#include <cstdint>
#include <vector>

#include "graph/ops/pool2d.h"
#include "kernels/cpu/loops.h"

namespace mirrortrain::cpu {

/// Numbers [begin, end).
struct Range {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
};

/// The lines or the columns of a pooling.
struct PoolAxis {
  std::int64_t input, output, window, stride, pad;
  std::vector<Range> seen;    ///< by output: the inputs in its window
  std::vector<Range> seeing;  ///< by input: the outputs whose windows contain it

  PoolAxis(std::int64_t input_size, std::int64_t output_size, std::int64_t window_size, std::int64_t strides,
           ops::Padding padding);

  /// Which element of the window of `out` the input `in` is.
  std::int64_t number(std::int64_t out, std::int64_t in) const { return in - (out * stride - pad); }
};

/// A pooling from [rows, height, width, channels] to [rows, height', width', channels].
struct PoolShape {
  std::int64_t rows, channels;
  PoolAxis lines, columns;

  PoolShape(const ops::Pool2dAttributes& pool, const Shape& input, const Shape& output);

  std::int64_t input_row() const { return lines.input * columns.input * channels; }
  std::int64_t output_row() const { return lines.output * columns.output * channels; }
  /// The element of a window, counted line by line.
  std::int32_t number(std::int64_t line, std::int64_t column) const {
    return static_cast<std::int32_t>(line * columns.window + column);
  }
};

/// A place in [rows, height, width]; its channels are the tensor's elements from `offset` on.
struct Cell {
  std::int64_t row, y, x, offset;
};

/// Calls body(cell) for every cell of [rows, height, width, channels].
template <class Body>
void for_cells(int threads, std::int64_t rows, std::int64_t height, std::int64_t width, std::int64_t channels,
               const Body& body) {
  parallel_for(threads, rows, rows_per_thread(height * width * channels), [&](std::int64_t begin, std::int64_t end) {
    std::int64_t offset = begin * height * width * channels;
    for (std::int64_t row = begin; row < end; ++row) {
      for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x, offset += channels) body(Cell{row, y, x, offset});
      }
    }
  });
}

/// Calls body(out_y, out_x, offset of that output) for the outputs whose windows contain the input's cell.
template <class Body>
void for_seeing(const PoolShape& s, const Cell& in, const Body& body) {
  const Range ys = s.lines.seeing[static_cast<std::size_t>(in.y)],
              xs = s.columns.seeing[static_cast<std::size_t>(in.x)];
  for (std::int64_t y = ys.begin; y < ys.end; ++y) {
    const std::int64_t line = in.row * s.output_row() + y * s.columns.output * s.channels;
    for (std::int64_t x = xs.begin; x < xs.end; ++x) body(y, x, line + x * s.channels);
  }
}

void add_max_pool2d_kernels(KernelRegistry& registry);
void add_average_pool2d_kernels(KernelRegistry& registry);

}  // namespace mirrortrain::cpu
