#pragma once

#include <algorithm>

#include "kernels/cpu/simd.h"

namespace mirrortrain::cpu {

/// Exchanges the off-diagonal quarters of all squares of 2 kDistance rows and columns; from large to small that
/// transposes.
template <int kDistance>
inline void transpose_squares(Vec (&rows)[kLanes]) {
  typedef std::int32_t Lanes __attribute__((vector_size(kLanes * sizeof(float))));
  Lanes upper, lower;
  for (int lane = 0; lane < kLanes; ++lane) {
    const bool right = (lane & kDistance) != 0;
    upper[lane] = right ? kLanes + lane - kDistance : lane;
    lower[lane] = right ? kLanes + lane : lane + kDistance;
  }
#pragma GCC unroll 16
  for (int row = 0; row < kLanes; ++row) {
    if (row & kDistance) continue;
    const Vec a = rows[row], b = rows[row + kDistance];
    rows[row] = __builtin_shuffle(a, b, upper);
    rows[row + kDistance] = __builtin_shuffle(a, b, lower);
  }
  if constexpr (kDistance > 1) transpose_squares<kDistance / 2>(rows);
}

/// to[column][row] = from[row][column]
inline void transpose(std::int64_t rows, std::int64_t columns, const float* from, std::int64_t from_stride, float* to,
                      std::int64_t to_stride) {
  for (std::int64_t row = 0; row < rows; row += kLanes) {
    for (std::int64_t column = 0; column < columns; column += kLanes) {
      const std::int64_t height = std::min<std::int64_t>(kLanes, rows - row);
      const std::int64_t width = std::min<std::int64_t>(kLanes, columns - column);
      const float* const source = from + row * from_stride + column;
      float* const target = to + column * to_stride + row;
      if (height == kLanes && width == kLanes) {
        Vec square[kLanes];
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) square[i] = load(source + i * from_stride);
        transpose_squares<kLanes / 2>(square);
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) store(target + i * to_stride, square[i]);
        continue;
      }
      for (std::int64_t i = 0; i < width; ++i) {
        for (std::int64_t j = 0; j < height; ++j) target[i * to_stride + j] = source[j * from_stride + i];
      }
    }
  }
}

}  // namespace mirrortrain::cpu
