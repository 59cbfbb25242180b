#pragma once

#include <cmath>
#include <cstdint>

#include "base/host_device.h"
#include "graph/ops/upsample2d.h"
#include "kernels/scalar/pool2d.h"

// The pixels from which an upsampled image is computed, for all devices.
namespace mirrortrain::scalar {

/// The lines or columns of an image that becomes `size` times as large.
struct UpsampleAxis {
  int input, size;
  ops::Interpolation interpolation;

  MIRRORTRAIN_HOST_DEVICE int output() const { return input * size; }

  /// The number of pixels on each side that contribute to an output; 0: a single pixel.
  MIRRORTRAIN_HOST_DEVICE int reach() const {
    if (size == 1 || interpolation == ops::Interpolation::kNearest) return 0;
    if (interpolation == ops::Interpolation::kBilinear) return 1;
    if (interpolation == ops::Interpolation::kBicubic) return 2;
    return interpolation == ops::Interpolation::kLanczos3 ? 3 : 5;
  }

  /// An unscaled share by the distance to the pixel's center, for distances of at most reach().
  MIRRORTRAIN_HOST_DEVICE float weight(float distance) const {
    constexpr float kPi = 3.14159265f;
    const float x = distance < 0 ? -distance : distance;
    if (interpolation == ops::Interpolation::kBilinear) return 1.0f - x;
    if (interpolation == ops::Interpolation::kBicubic) {  // Keys, with a = -1/2
      return x >= 1.0f ? ((-0.5f * x + 2.5f) * x - 4.0f) * x + 2.0f : (1.5f * x - 2.5f) * x * x + 1.0f;
    }
    const auto radius = static_cast<float>(reach());
    if (x <= 1e-3f) return 1.0f;
    return radius * std::sin(kPi * x) * std::sin(kPi * x / radius) / (kPi * kPi * x * x);
  }

  /// An output is a weighted sum of the inputs from first to last.
  struct Taps {
    int first, last;
    int before;   ///< the input before the output's center,
    float share;  ///< and how far behind that one's center it lies
    float scale;  ///< makes the sum of the shares 1
  };
  MIRRORTRAIN_HOST_DEVICE Taps taps(int out) const {
    const int reached = reach();
    if (reached == 0) return {out / size, out / size, out / size, 0.0f, 1.0f};
    // The centers of the pixels lie at 1/2; of 1 pixel more, so never below 0.
    const int place = 2 * out + 1 + size, before = place / (2 * size) - 1;
    float share = static_cast<float>(place % (2 * size)) / static_cast<float>(2 * size);
    // Rounded as in TensorFlow's weight table.
    if (interpolation == ops::Interpolation::kBicubic) share = std::floor(share * 1024.0f + 0.5f) / 1024.0f;
    const int first = before - reached + 1, last = before + reached;
    Taps made{first < 0 ? 0 : first, last < input ? last : input - 1, before, share, 1.0f};
    float sum = 0.0f;
    for (int in = made.first; in <= made.last; ++in) sum += of(made, in);
    made.scale = 1.0f / sum;
    return made;
  }
  /// The share of an input.
  MIRRORTRAIN_HOST_DEVICE float of(const Taps& taps, int in) const {
    if (in < taps.first || in > taps.last) return 0.0f;
    return taps.first == taps.last ? 1.0f : weight(static_cast<float>(taps.before - in) + taps.share) * taps.scale;
  }
  /// The outputs to which `in` may contribute.
  MIRRORTRAIN_HOST_DEVICE Range made_of(int in) const {
    const int more = reach() * size, begin = in * size - more, end = (in + 1) * size + more;
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
    return {static_cast<int>(input[i + 1]), static_cast<int>(op.size[i]), op.interpolation};
  }
};

/// Calls body(share, offset) for the inputs that contribute to the output at (y, x).
template <class Body>
MIRRORTRAIN_DEVICE inline void each_source(const UpsampleShape& s, const Cell& out, const Body& body) {
  const UpsampleAxis::Taps line = s.lines.taps(out.y), column = s.columns.taps(out.x);
  for (int y = line.first; y <= line.last; ++y) {
    const float of_line = s.lines.of(line, y);
    for (int x = column.first; x <= column.last; ++x) {
      body(of_line * s.columns.of(column, x), s.input_cell(out.row, y, x) + out.channel);
    }
  }
}

/// Calls body(share, offset) for the outputs to which the input at (y, x) contributes.
template <class Body>
MIRRORTRAIN_DEVICE inline void each_made_of(const UpsampleShape& s, const Cell& in, const Body& body) {
  const Range lines = s.lines.made_of(in.y), columns = s.columns.made_of(in.x);
  for (int y = lines.begin; y < lines.end; ++y) {
    const float of_line = s.lines.of(s.lines.taps(y), in.y);
    if (of_line == 0.0f) continue;
    for (int x = columns.begin; x < columns.end; ++x) {
      const float share = of_line * s.columns.of(s.columns.taps(x), in.x);
      if (share != 0.0f) body(share, s.output_cell(in.row, y, x) + in.channel);
    }
  }
}

}  // namespace mirrortrain::scalar
