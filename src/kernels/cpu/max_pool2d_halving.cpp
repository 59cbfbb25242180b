#include <algorithm>
#include <limits>

#include "kernels/cpu/pool2d.h"

namespace mirrortrain::cpu {
namespace {

template <bool kPositions, class T>
void halve_image(const PoolShape& shape, bool relu, const T* x, T* y, std::uint8_t* positions) {
  const std::int64_t channels = shape.channels, line = shape.columns.input * channels;
  const Vec floor = broadcast(relu ? 0.0f : -std::numeric_limits<float>::infinity());
  for (std::int64_t out_y = 0; out_y < shape.lines.output; ++out_y) {
    for (std::int64_t out_x = 0; out_x < shape.columns.output; ++out_x) {
      const T* above = x + 2 * out_y * line + 2 * out_x * channels;
      const T* below = above + line;
      each_vector(channels, [&](std::int64_t c, auto part) {
        Maximum maximum(get(above + c, part));
        maximum.take(get(above + channels + c, part), 1);
        maximum.take(get(below + c, part), 2);
        maximum.take(get(below + channels + c, part), 3);
        put(y + c, maximum.value < floor ? floor : maximum.value, part);
        if constexpr (kPositions) put(positions + c, maximum.position, part);
      });
      y += channels;
      if constexpr (kPositions) positions += channels;
    }
  }
}

// Gradients are passed on unchanged, so bfloat16 ones need no conversion to float.
template <class Part>
inline Vec bits_of(const float* from, Part part) {
  return get(from, part);
}
template <class Part>
inline HalfVec bits_of(const bfloat16* from, Part part) {
  return raw_load<HalfVec>(from, part);
}

inline auto is_positive(const Vec& value) { return value > 0.0f; }
inline auto is_positive(const HalfVec& bits) {
  constexpr std::uint16_t kInfinity = 0x7f80;  // larger values are NaN or negative
  return (bits > 0) & (bits <= kInfinity);
}

/// Positions in a type that can select from these bits.
template <class Part>
inline IntVec positions_for(const Vec&, const std::uint8_t* from, Part part) {
  return get(from, part);
}
template <class Part>
inline HalfVec positions_for(const HalfVec&, const std::uint8_t* from, Part part) {
  return __builtin_convertvector(raw_load<ByteVec>(from, part), HalfVec);
}

template <bool kRelu, class T>
void halve_image_gradient(const PoolShape& shape, const T* dy, const std::uint8_t* positions, const T* y, T* dx) {
  const std::int64_t channels = shape.channels, line = shape.columns.input * channels;
  for (std::int64_t out_y = 0; out_y < shape.lines.output; ++out_y) {
    T* lines = dx + 2 * out_y * line;
    for (std::int64_t out_x = 0; out_x < shape.columns.output; ++out_x) {
      T* above = lines + 2 * out_x * channels;
      T* below = above + line;
      each_vector(channels, [&](std::int64_t c, auto part) {
        auto gradient = bits_of(dy + c, part);
        constexpr decltype(gradient) kZero{};
        if constexpr (kRelu) gradient = is_positive(bits_of(y + c, part)) ? gradient : kZero;
        const auto position = positions_for(gradient, positions + c, part);
        raw_store(above + c, position == 0 ? gradient : kZero, part);
        raw_store(above + channels + c, position == 1 ? gradient : kZero, part);
        raw_store(below + c, position == 2 ? gradient : kZero, part);
        raw_store(below + channels + c, position == 3 ? gradient : kZero, part);
      });
      dy += channels;
      positions += channels;
      if constexpr (kRelu) y += channels;
    }
    // An odd width leaves a column that no window covers.
    std::fill(lines + 2 * shape.columns.output * channels, lines + line, T(0.0f));
    std::fill(lines + line + 2 * shape.columns.output * channels, lines + 2 * line, T(0.0f));
  }
  std::fill(dx + 2 * shape.lines.output * line, dx + shape.lines.input * line, T(0.0f));
}

}  // namespace

bool is_halving(const PoolShape& shape) {
  const auto halves = [](const scalar::PoolAxis& axis) {
    return axis.window == 2 && axis.stride == 2 && 2 * axis.output <= axis.input;
  };
  return halves(shape.lines) && halves(shape.columns);
}

template <class T>
void halve(const PoolShape& shape, bool relu, int threads, const T* x, T* y, std::uint8_t* positions) {
  parallel_for(threads, shape.rows, rows_per_thread(shape.input_row()), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t at = row * shape.output_row();
      const T* image = x + row * shape.input_row();
      if (positions == nullptr) {
        halve_image<false>(shape, relu, image, y + at, nullptr);
      } else {
        halve_image<true>(shape, relu, image, y + at, positions + at);
      }
    }
  });
}

template <class T>
void halve_gradient(const PoolShape& shape, int threads, const T* dy, const std::uint8_t* positions, const T* y,
                    T* dx) {
  parallel_for(threads, shape.rows, rows_per_thread(shape.input_row()), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t at = row * shape.output_row();
      T* image = dx + row * shape.input_row();
      if (y == nullptr) {
        halve_image_gradient<false, T>(shape, dy + at, positions + at, nullptr, image);
      } else {
        halve_image_gradient<true>(shape, dy + at, positions + at, y + at, image);
      }
    }
  });
}

template void halve(const PoolShape&, bool, int, const float*, float*, std::uint8_t*);
template void halve(const PoolShape&, bool, int, const bfloat16*, bfloat16*, std::uint8_t*);
template void halve_gradient(const PoolShape&, int, const float*, const std::uint8_t*, const float*, float*);
template void halve_gradient(const PoolShape&, int, const bfloat16*, const std::uint8_t*, const bfloat16*, bfloat16*);

}  // namespace mirrortrain::cpu
