#pragma once

#include <vector>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/simd_elements.h"
#include "kernels/scalar/pool2d.h"

namespace mirrortrain::cpu {

using scalar::Cell;
using scalar::PoolShape;
using scalar::Range;

/// Calls body(cell) for every cell of [rows, height, width, channels], with all of its channels.
template <class Body>
void for_cells(int threads, std::int64_t rows, std::int64_t height, std::int64_t width, std::int64_t channels,
               const Body& body) {
  parallel_for(threads, rows, rows_per_thread(height * width * channels), [&](std::int64_t begin, std::int64_t end) {
    std::int64_t offset = begin * height * width * channels;
    for (std::int64_t row = begin; row < end; ++row) {
      for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x, offset += channels) body(Cell{row, y, x, 0, offset});
      }
    }
  });
}

/// The outputs whose windows contain each line and column, cached to avoid divisions.
struct Seeing {
  std::vector<Range> lines, columns;

  explicit Seeing(const PoolShape& s) {
    for (int y = 0; y < s.lines.input; ++y) lines.push_back(s.lines.seeing(y));
    for (int x = 0; x < s.columns.input; ++x) columns.push_back(s.columns.seeing(x));
  }
};

/// Calls body(out_y, out_x, offset of that output) for the outputs whose windows contain the input's cell.
template <class Body>
void for_seeing(const PoolShape& s, const Seeing& seeing, const Cell& in, const Body& body) {
  each_seeing(s, in, seeing.lines[static_cast<std::size_t>(in.y)], seeing.columns[static_cast<std::size_t>(in.x)],
              body);
}

/// The largest value so far and its position: the first of equals. NaN propagates.
struct Maximum {
  Vec value;
  IntVec position{};

  explicit Maximum(const Vec& first, std::int32_t at = 0) : value(first), position(at - IntVec{}) {}

  void take(const Vec& candidate, std::int32_t at) {
    const IntVec better = ((candidate > value) | (candidate != candidate)) & (value == value);
    value = better ? candidate : value;
    position = better ? at - IntVec{} : position;
  }
};

// The pooling that most networks have: 2 x 2 windows side by side, without padding.
bool is_halving(const PoolShape& shape);

/// `positions` may be null.
template <class T>
void halve(const PoolShape& shape, bool relu, int threads, const T* x, T* y, std::uint8_t* positions);

/// `y` is the output where relu was fused, else null.
template <class T>
void halve_gradient(const PoolShape& shape, int threads, const T* dy, const std::uint8_t* positions, const T* y, T* dx);

}  // namespace mirrortrain::cpu
