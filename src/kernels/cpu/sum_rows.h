#pragma once

#include <cstdint>

#include "kernels/cpu/simd_elements.h"

namespace mirrortrain::cpu {

/// sums[column] = the sum of the column's elements, in the order of the rows.
template <class T>
void sum_rows(std::int64_t rows, std::int64_t columns, const T* from, float* sums) {
  each_vector(columns, [&](std::int64_t column, auto part) {
    Vec sum{};
    for (std::int64_t row = 0; row < rows; ++row) sum += get(from + row * columns + column, part);
    part.store(sums + column, sum);
  });
}

}  // namespace mirrortrain::cpu
