#pragma once

#include <cstdint>

#include "base/host_device.h"
#include "graph/ops/pool2d.h"

// Which inputs a pooling's windows see, for all devices.
namespace mirrortrain::scalar {

/// Numbers [begin, end).
struct Range {
  int begin, end;
  MIRRORTRAIN_HOST_DEVICE int size() const { return end - begin; }
};

/// The lines or the columns of a pooling, as a kernel's parameter. An image's sides fit into 32 bits.
struct PoolAxis {
  int input, output, window, stride, pad;

  PoolAxis(const ops::Pool2dAttributes& pool, const Shape& in, const Shape& out, std::size_t i)
      : input(static_cast<int>(in[i + 1])),
        output(static_cast<int>(out[i + 1])),
        window(static_cast<int>(pool.pool_size[i])),
        stride(static_cast<int>(pool.strides[i])),
        pad(static_cast<int>(ops::window_axis(input, window, stride, 1, pool.padding).pad_before)) {}

  /// The inputs in the window of `out` that lie inside the image.
  MIRRORTRAIN_HOST_DEVICE Range seen(int out) const {
    const int first = out * stride - pad, end = first + window;
    return {first > 0 ? first : 0, end < input ? end : input};
  }
  /// The outputs whose windows contain `in`.
  MIRRORTRAIN_HOST_DEVICE Range seeing(int in) const {
    const int before = in + pad - window, end = (in + pad) / stride + 1;
    return {before < 0 ? 0 : before / stride + 1, end < output ? end : output};
  }
  /// Which element of the window of `out` the input `in` is.
  MIRRORTRAIN_HOST_DEVICE int number(int out, int in) const { return in - (out * stride - pad); }
};

/// A pooling from [rows, height, width, channels] to [rows, height', width', channels].
struct PoolShape {
  std::int64_t rows, channels;
  PoolAxis lines, columns;

  PoolShape(const ops::Pool2dAttributes& pool, const Shape& input, const Shape& output)
      : rows(input[0]), channels(input[3]), lines(pool, input, output, 0), columns(pool, input, output, 1) {}

  /// Elements of an image before and after.
  std::int64_t input_row() const { return input_cell(1, 0, 0); }
  std::int64_t output_row() const { return output_cell(1, 0, 0); }
  std::int64_t inputs() const { return rows * input_row(); }
  std::int64_t outputs() const { return rows * output_row(); }

  /// The first element of an input's or an output's cell.
  MIRRORTRAIN_HOST_DEVICE std::int64_t input_cell(std::int64_t row, int y, int x) const {
    return ((row * lines.input + y) * columns.input + x) * channels;
  }
  MIRRORTRAIN_HOST_DEVICE std::int64_t output_cell(std::int64_t row, int y, int x) const {
    return ((row * lines.output + y) * columns.output + x) * channels;
  }
  /// Which element of an output's window the input at (y, x) is, counted line by line.
  MIRRORTRAIN_HOST_DEVICE int number(int out_y, int out_x, int y, int x) const {
    return lines.number(out_y, y) * columns.window + columns.number(out_x, x);
  }
  /// One over the elements of a window that lie inside the image.
  MIRRORTRAIN_HOST_DEVICE float share(int out_y, int out_x) const {
    return 1.0f / static_cast<float>(lines.seen(out_y).size() * columns.seen(out_x).size());
  }
};

/// Channels from `channel` on at a place of [rows, height, width]: the tensor's elements from `offset` on.
struct Cell {
  std::int64_t row;
  int y, x;
  std::int64_t channel, offset;
};

/// Calls body(out_y, out_x, offset of that output's channel) for the outputs whose windows contain the input's cell:
/// those in the lines and columns that see it.
template <class Body>
MIRRORTRAIN_DEVICE inline void each_seeing(const PoolShape& s, const Cell& in, Range lines, Range columns,
                                           const Body& body) {
  for (int y = lines.begin; y < lines.end; ++y) {
    for (int x = columns.begin; x < columns.end; ++x) body(y, x, s.output_cell(in.row, y, x) + in.channel);
  }
}

}  // namespace mirrortrain::scalar
