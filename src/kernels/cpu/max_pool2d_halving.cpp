#include "kernels/cpu/max_pool2d_halving.h"

#include <limits>

namespace mirrortrain::cpu {
namespace {

constexpr int kBlock = 16;

/// The maxima of 2 x 2 windows over `count` channels; `above` and `below` are the windows' upper left and lower left.
template <class T>
inline void maxima(const T* above, const T* below, std::int64_t next, std::int64_t count, bool relu, T* y,
                   std::uint8_t* positions) {
  const float floor = relu ? 0.0f : -std::numeric_limits<float>::infinity();
  for (std::int64_t c = 0; c < count; ++c) {
    float best = above[c];
    std::int32_t position = 0;
    // A NaN is taken and stays.
    const auto take = [&](float value, std::int32_t at) {
      const bool better = value > best || value != value;
      best = better ? value : best;
      position = better ? at : position;
    };
    take(above[next + c], 1);
    take(below[c], 2);
    take(below[next + c], 3);
    y[c] = T(best < floor ? floor : best);
    if (positions != nullptr) positions[c] = static_cast<std::uint8_t>(position);
  }
}

template <class T>
void halve_image(const PoolShape& shape, bool relu, const T* x, T* y, std::uint8_t* positions) {
  const std::int64_t channels = shape.channels, line = shape.width * channels;
  for (std::int64_t oy = 0; oy < shape.out_height; ++oy) {
    for (std::int64_t ox = 0; ox < shape.out_width; ++ox) {
      const T* above = x + 2 * oy * line + 2 * ox * channels;
      std::int64_t c = 0;
      const auto block = [&](std::int64_t count) {
        maxima(above + c, above + line + c, channels, count, relu, y + c, positions ? positions + c : nullptr);
      };
      for (; c + kBlock <= channels; c += kBlock) block(kBlock);
      if (c < channels) block(channels - c);
      y += channels;
      if (positions != nullptr) positions += channels;
    }
  }
}

template <class T>
void halve_image_gradient(const PoolShape& shape, const T* dy, const std::uint8_t* positions, const T* y, T* dx) {
  const std::int64_t channels = shape.channels, line = shape.width * channels;
  for (std::int64_t oy = 0; oy < shape.out_height; ++oy) {
    for (std::int64_t ox = 0; ox < shape.out_width; ++ox) {
      T* above = dx + 2 * oy * line + 2 * ox * channels;
      T* below = above + line;
      std::int64_t c = 0;
      const auto block = [&](std::int64_t count) {
        for (std::int64_t i = c; i < c + count; ++i) {
          const float passed = y == nullptr || static_cast<float>(y[i]) > 0.0f ? static_cast<float>(dy[i]) : 0.0f;
          const std::int32_t position = positions[i];
          above[i] = T(position == 0 ? passed : 0.0f);
          above[channels + i] = T(position == 1 ? passed : 0.0f);
          below[i] = T(position == 2 ? passed : 0.0f);
          below[channels + i] = T(position == 3 ? passed : 0.0f);
        }
      };
      for (; c + kBlock <= channels; c += kBlock) block(kBlock);
      if (c < channels) block(channels - c);
      dy += channels;
      positions += channels;
      if (y != nullptr) y += channels;
    }
    // An odd width leaves a column that no window covers.
    for (std::int64_t half = 0; half < 2; ++half) {
      T* end = dx + (2 * oy + half) * line + 2 * shape.out_width * channels;
      std::fill(end, dx + (2 * oy + half + 1) * line, T(0.0f));
    }
  }
  std::fill(dx + 2 * shape.out_height * line, dx + shape.height * line, T(0.0f));
}

}  // namespace

bool is_halving(const PoolShape& s) {
  return s.window_height == 2 && s.window_width == 2 && s.stride_height == 2 && s.stride_width == 2 &&
         2 * s.out_height <= s.height && 2 * s.out_width <= s.width;
}

template <class T>
void halve(const PoolShape& shape, bool relu, int threads, const T* x, T* y, std::uint8_t* positions) {
  parallel_for(threads, shape.rows, rows_per_thread(shape.input_row()), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t at = row * shape.output_row();
      halve_image(shape, relu, x + row * shape.input_row(), y + at, positions == nullptr ? nullptr : positions + at);
    }
  });
}

template <class T>
void halve_gradient(const PoolShape& shape, int threads, const T* dy, const std::uint8_t* positions, const T* y,
                    T* dx) {
  parallel_for(threads, shape.rows, rows_per_thread(shape.input_row()), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t at = row * shape.output_row();
      halve_image_gradient(shape, dy + at, positions + at, y == nullptr ? nullptr : y + at,
                           dx + row * shape.input_row());
    }
  });
}

template void halve(const PoolShape&, bool, int, const float*, float*, std::uint8_t*);
template void halve(const PoolShape&, bool, int, const bfloat16*, bfloat16*, std::uint8_t*);
template void halve_gradient(const PoolShape&, int, const float*, const std::uint8_t*, const float*, float*);
template void halve_gradient(const PoolShape&, int, const bfloat16*, const std::uint8_t*, const bfloat16*, bfloat16*);

}  // namespace mirrortrain::cpu
