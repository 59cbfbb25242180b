#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/simd_elements.h"

namespace mirrortrain::cpu {

/// sums[column] = the sum of the column's elements, in the order of the rows. A few rows at a time and several vectors
/// of each: a column as a whole would be on as many pages as there are rows.
template <class T>
void sum_rows(int threads, std::int64_t rows, std::int64_t columns, const T* from, float* sums) {
  constexpr std::int64_t kTile = 32, kTogether = 4 * kLanes;
  const std::int64_t grain = (rows_per_thread(rows) + kTogether - 1) / kTogether * kTogether;
  parallel_for(threads, columns, grain, [&](std::int64_t begin, std::int64_t end) {
    std::fill(sums + begin, sums + end, 0.0f);
    for (std::int64_t first = 0; first < rows; first += kTile) {
      const std::int64_t last = std::min(rows, first + kTile);
      std::int64_t column = begin;
      for (; column + kTogether <= end; column += kTogether) {
        Vec a = load(sums + column), b = load(sums + column + kLanes), c = load(sums + column + 2 * kLanes),
            d = load(sums + column + 3 * kLanes);
        for (const T* row = from + first * columns + column; row < from + last * columns; row += columns) {
          a += get(row, Whole{});
          b += get(row + kLanes, Whole{});
          c += get(row + 2 * kLanes, Whole{});
          d += get(row + 3 * kLanes, Whole{});
        }
        store(sums + column, a);
        store(sums + column + kLanes, b);
        store(sums + column + 2 * kLanes, c);
        store(sums + column + 3 * kLanes, d);
      }
      each_vector(end - column, [&](std::int64_t i, auto part) {
        Vec sum = get(sums + column + i, part);
        for (std::int64_t row = first; row < last; ++row) sum += get(from + row * columns + column + i, part);
        part.store(sums + column + i, sum);
      });
    }
  });
}

}  // namespace mirrortrain::cpu
