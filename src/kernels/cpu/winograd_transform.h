#pragma once

#include "kernels/cpu/simd.h"

/// Winograd's minimal filtering F(4x4, 3x3) (Lavin, Gray: "Fast algorithms for convolutional neural networks", 2016): a
/// tile of 4x4 outputs is A^T [(G filter G^T) * (B^T input B)] A over the points 0, +-a, +-b and infinity. All maps
/// here are linear in one axis; `transform_2d` applies them to both. The gradients are the adjoints.
namespace mirrortrain::cpu::winograd {

inline constexpr int kOutputs = 4, kFilter = 3, kPoints = 6;

// Among simple fractions these points lose the least precision in float32, and all the products below are exact.
inline constexpr float a = 0.625f, b = 1.5f, aa = a * a, bb = b * b;
// Factors of the filters: one over the product of a point's distances to the others.
inline constexpr float kZero = 1 / (aa * bb), kA = 1 / (2 * aa * (aa - bb)), kB = 1 / (2 * bb * (bb - aa));

/// B^T
struct InputToPoints {
  static constexpr int kFrom = kPoints, kTo = kPoints;
  [[gnu::always_inline]] static void apply(const Vec (&d)[kFrom], Vec (&t)[kTo]) {
    const Vec even_a = d[4] - bb * d[2], odd_a = d[3] - bb * d[1];
    const Vec even_b = d[4] - aa * d[2], odd_b = d[3] - aa * d[1];
    t[0] = d[4] + aa * bb * d[0] - (aa + bb) * d[2];
    t[1] = even_a + a * odd_a;
    t[2] = even_a - a * odd_a;
    t[3] = even_b + b * odd_b;
    t[4] = even_b - b * odd_b;
    t[5] = d[5] + aa * bb * d[1] - (aa + bb) * d[3];
  }
};

/// B
struct PointsToInput {
  static constexpr int kFrom = kPoints, kTo = kPoints;
  [[gnu::always_inline]] static void apply(const Vec (&t)[kFrom], Vec (&d)[kTo]) {
    const Vec sum_a = t[1] + t[2], difference_a = t[1] - t[2], sum_b = t[3] + t[4], difference_b = t[3] - t[4];
    d[0] = aa * bb * t[0];
    d[1] = aa * bb * t[5] - a * bb * difference_a - aa * b * difference_b;
    d[2] = -(aa + bb) * t[0] - bb * sum_a - aa * sum_b;
    d[3] = a * difference_a + b * difference_b - (aa + bb) * t[5];
    d[4] = t[0] + sum_a + sum_b;
    d[5] = t[5];
  }
};

/// A^T
struct PointsToOutput {
  static constexpr int kFrom = kPoints, kTo = kOutputs;
  [[gnu::always_inline]] static void apply(const Vec (&m)[kFrom], Vec (&y)[kTo]) {
    const Vec sum_a = m[1] + m[2], difference_a = m[1] - m[2], sum_b = m[3] + m[4], difference_b = m[3] - m[4];
    y[0] = m[0] + sum_a + sum_b;
    y[1] = a * difference_a + b * difference_b;
    y[2] = aa * sum_a + bb * sum_b;
    y[3] = m[5] + a * aa * difference_a + b * bb * difference_b;
  }
};

/// A
struct OutputToPoints {
  static constexpr int kFrom = kOutputs, kTo = kPoints;
  [[gnu::always_inline]] static void apply(const Vec (&y)[kFrom], Vec (&m)[kTo]) {
    const Vec even_a = y[0] + aa * y[2], odd_a = y[1] + aa * y[3], even_b = y[0] + bb * y[2], odd_b = y[1] + bb * y[3];
    m[0] = y[0];
    m[1] = even_a + a * odd_a;
    m[2] = even_a - a * odd_a;
    m[3] = even_b + b * odd_b;
    m[4] = even_b - b * odd_b;
    m[5] = y[3];
  }
};

/// G
struct FilterToPoints {
  static constexpr int kFrom = kFilter, kTo = kPoints;
  [[gnu::always_inline]] static void apply(const Vec (&g)[kFrom], Vec (&u)[kTo]) {
    const Vec even_a = kA * g[0] + kA * aa * g[2], even_b = kB * g[0] + kB * bb * g[2];
    u[0] = kZero * g[0];
    u[1] = even_a + kA * a * g[1];
    u[2] = even_a - kA * a * g[1];
    u[3] = even_b + kB * b * g[1];
    u[4] = even_b - kB * b * g[1];
    u[5] = g[2];
  }
};

/// G^T
struct PointsToFilter {
  static constexpr int kFrom = kPoints, kTo = kFilter;
  [[gnu::always_inline]] static void apply(const Vec (&u)[kFrom], Vec (&g)[kTo]) {
    const Vec sum_a = kA * (u[1] + u[2]), sum_b = kB * (u[3] + u[4]);
    g[0] = kZero * u[0] + sum_a + sum_b;
    g[1] = kA * a * (u[1] - u[2]) + kB * b * (u[3] - u[4]);
    g[2] = aa * sum_a + bb * sum_b + u[5];
  }
};

/// Reads load(row, column), maps columns and then rows, and gives store(row, column, vector).
template <class Map, class Load, class Store>
[[gnu::always_inline]] inline void transform_2d(const Load& load, const Store& store) {
  Vec middle[Map::kTo][Map::kFrom];
#pragma GCC unroll 6
  for (int column = 0; column < Map::kFrom; ++column) {
    Vec from[Map::kFrom], to[Map::kTo];
#pragma GCC unroll 6
    for (int row = 0; row < Map::kFrom; ++row) from[row] = load(row, column);
    Map::apply(from, to);
#pragma GCC unroll 6
    for (int row = 0; row < Map::kTo; ++row) middle[row][column] = to[row];
  }
#pragma GCC unroll 6
  for (int row = 0; row < Map::kTo; ++row) {
    Vec to[Map::kTo];
    Map::apply(middle[row], to);
#pragma GCC unroll 6
    for (int column = 0; column < Map::kTo; ++column) store(row, column, to[column]);
  }
}

}  // namespace mirrortrain::cpu::winograd
