#pragma once

#include <cstdint>

#include "graph/ops/pool2d.h"
#include "kernels/cuda/pack.h"

namespace mirrortrain::cuda {

/// Numbers [begin, end).
struct Range {
  int begin, end;
};

/// The lines or the columns of a pooling, as a kernel's parameter. An image's sides fit into 32 bits.
struct PoolAxis {
  int input, output, window, stride, pad;

  /// The inputs in the window of `out` that lie inside the image.
  __device__ Range seen(int out) const {
    const int first = out * stride - pad, end = first + window;
    return {first > 0 ? first : 0, end < input ? end : input};
  }
  /// The outputs whose windows contain `in`.
  __device__ Range seeing(int in) const {
    const int before = in + pad - window, end = (in + pad) / stride + 1;
    return {before < 0 ? 0 : before / stride + 1, end < output ? end : output};
  }
  /// Which element of the window of `out` the input `in` is.
  __device__ int number(int out, int in) const { return in - (out * stride - pad); }
};

/// A pooling from [rows, height, width, channels] to [rows, height', width', channels].
struct PoolShape {
  std::int64_t rows, channels;
  PoolAxis lines, columns;

  PoolShape(const ops::Pool2dAttributes& pool, const Shape& input, const Shape& output)
      : rows(input[0]),
        channels(input[3]),
        lines(axis(pool, input, output, 0)),
        columns(axis(pool, input, output, 1)) {}

  std::int64_t inputs() const { return rows * lines.input * columns.input * channels; }
  std::int64_t outputs() const { return rows * lines.output * columns.output * channels; }

  /// The first element of an input's or an output's cell.
  __device__ std::int64_t input_cell(std::int64_t row, int y, int x) const {
    return ((row * lines.input + y) * columns.input + x) * channels;
  }
  __device__ std::int64_t output_cell(std::int64_t row, int y, int x) const {
    return ((row * lines.output + y) * columns.output + x) * channels;
  }
  /// The element of a window, counted line by line.
  __device__ int number(int line, int column) const { return line * columns.window + column; }
  /// One over the elements of a window that lie inside the image.
  __device__ float share(int out_y, int out_x) const {
    const Range ys = lines.seen(out_y), xs = columns.seen(out_x);
    return 1.0f / static_cast<float>((ys.end - ys.begin) * (xs.end - xs.begin));
  }

 private:
  static PoolAxis axis(const ops::Pool2dAttributes& pool, const Shape& input, const Shape& output, std::size_t i) {
    const std::int64_t pad =
        ops::window_axis(input[i + 1], pool.pool_size[i], pool.strides[i], 1, pool.padding).pad_before;
    return {static_cast<int>(input[i + 1]), static_cast<int>(output[i + 1]), static_cast<int>(pool.pool_size[i]),
            static_cast<int>(pool.strides[i]), static_cast<int>(pad)};
  }
};

/// A pack of channels at a place of [rows, height, width].
struct Cell {
  std::int64_t row;
  int y, x;
  std::int64_t channel;
  std::int64_t offset;  ///< of the pack in the tensor
};

/// Calls body(cell) for the packs of kCount channels of [rows, height, width, channels] that are this thread's.
/// `channels` is a multiple of kCount.
template <int kCount, class Body>
__device__ inline void each_cell(std::int64_t rows, std::int64_t height, std::int64_t width, std::int64_t channels,
                                 const Body& body) {
  const std::int64_t packs = channels / kCount, all = rows * height * width * packs;
  for (std::int64_t i = grid_thread(); i < all; i += grid_threads()) {
    const Division cell = divide(i, packs), line = divide(cell.quotient, width), row = divide(line.quotient, height);
    body(Cell{row.quotient, static_cast<int>(row.rest), static_cast<int>(line.rest), cell.rest * kCount, i * kCount});
  }
}

/// Calls body(out_y, out_x, offset of that output's channel) for the outputs whose windows contain the input's cell.
template <class Body>
__device__ inline void each_seeing(const PoolShape& s, const Cell& in, const Body& body) {
  const Range ys = s.lines.seeing(in.y), xs = s.columns.seeing(in.x);
  for (int y = ys.begin; y < ys.end; ++y) {
    for (int x = xs.begin; x < xs.end; ++x) body(y, x, s.output_cell(in.row, y, x) + in.channel);
  }
}

}  // namespace mirrortrain::cuda
