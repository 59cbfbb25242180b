#pragma once

#include <cstdint>

#include "base/host_device.h"
#include "graph/ops/upsample2d.h"
#include "kernels/scalar/pool2d.h"

// Which pixels an enlarged image is made of, for all devices.
namespace mirrortrain::scalar {

/// The lines or columns of an image that becomes `size` times as large.
struct UpsampleAxis {
  int input, size;
  bool bilinear;

  MIRRORTRAIN_HOST_DEVICE int output() const { return input * size; }

  /// An output is share * input[second] + (1 - share) * input[first].
  struct Taps {
    int first, second;
    float share;
    MIRRORTRAIN_HOST_DEVICE float of(int in) const {
      return (in == first ? 1.0f - share : 0.0f) + (in == second ? share : 0.0f);
    }
  };
  MIRRORTRAIN_HOST_DEVICE Taps taps(int out) const {
    if (!bilinear) return {out / size, out / size, 0.0f};
    // The centers of the pixels lie at 1/2.
    const float at = (static_cast<float>(out) + 0.5f) / static_cast<float>(size) + 0.5f;  // of 1 more, so never below 0
    const int first = static_cast<int>(at) - 1, last = input - 1;
    const float share = at - static_cast<float>(first + 1);
    return {first < 0 ? 0 : first, first + 1 > last ? last : first + 1, share};
  }
  /// The outputs that may be made of `in`.
  MIRRORTRAIN_HOST_DEVICE Range made_of(int in) const {
    const int reach = bilinear ? size : 0, begin = in * size - reach, end = (in + 1) * size + reach;
    return {begin < 0 ? 0 : begin, end < output() ? end : output()};
  }
};

/// From [rows, height, width, channels] to [rows, height size[0], width size[1], channels].
struct UpsampleShape {
  std::int64_t rows, channels;
  UpsampleAxis lines, columns;

  template <class Op>
  UpsampleShape(const Op& op, const Shape& input)
      : rows(input[0]), channels(input[3]), lines(axis(op, input, 0)), columns(axis(op, input, 1)) {}

  std::int64_t inputs() const { return rows * lines.input * columns.input * channels; }
  std::int64_t outputs() const { return rows * lines.output() * columns.output() * channels; }
  MIRRORTRAIN_HOST_DEVICE std::int64_t input_cell(std::int64_t row, int y, int x) const {
    return ((row * lines.input + y) * columns.input + x) * channels;
  }
  MIRRORTRAIN_HOST_DEVICE std::int64_t output_cell(std::int64_t row, int y, int x) const {
    return ((row * lines.output() + y) * columns.output() + x) * channels;
  }

 private:
  template <class Op>
  static UpsampleAxis axis(const Op& op, const Shape& input, std::size_t i) {
    return {static_cast<int>(input[i + 1]), static_cast<int>(op.size[i]),
            op.interpolation == ops::Interpolation::kBilinear};
  }
};

/// Calls body(share, offset) for the inputs that the output at (y, x) is made of.
template <class Body>
MIRRORTRAIN_DEVICE inline void each_source(const UpsampleShape& s, const Cell& out, const Body& body) {
  const UpsampleAxis::Taps line = s.lines.taps(out.y), column = s.columns.taps(out.x);
  if (!s.lines.bilinear) return body(1.0f, s.input_cell(out.row, line.first, column.first) + out.channel);
  for (int i = 0; i < 4; ++i) {
    const int y = i < 2 ? line.first : line.second, x = i % 2 == 0 ? column.first : column.second;
    const float share = (i < 2 ? 1.0f - line.share : line.share) * (i % 2 == 0 ? 1.0f - column.share : column.share);
    body(share, s.input_cell(out.row, y, x) + out.channel);
  }
}

/// Calls body(share, offset) for the outputs that are made of the input at (y, x).
template <class Body>
MIRRORTRAIN_DEVICE inline void each_made_of(const UpsampleShape& s, const Cell& in, const Body& body) {
  const Range lines = s.lines.made_of(in.y), columns = s.columns.made_of(in.x);
  for (int y = lines.begin; y < lines.end; ++y) {
    const float of_line = s.lines.taps(y).of(in.y);
    for (int x = columns.begin; x < columns.end; ++x) {
      const float share = of_line * s.columns.taps(x).of(in.x);
      if (share != 0.0f) body(share, s.output_cell(in.row, y, x) + in.channel);
    }
  }
}

}  // namespace mirrortrain::scalar
