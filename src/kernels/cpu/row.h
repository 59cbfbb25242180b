#pragma once

#include <limits>

#include "kernels/cpu/simd_elements.h"

namespace mirrortrain::cpu {

/// The sum of value(i, part) over the vectors of a row; value is 0 beyond the row.
template <class Value>
inline float sum_over(std::int64_t count, const Value& value) {
  Vec sum{};
  each_vector(count, [&](std::int64_t i, auto part) { sum += value(i, part); });
  return sum_of(sum);
}

template <class T>
inline float largest_of_row(const T* row, std::int64_t count) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  Vec largest = broadcast(kLowest);
  each_vector(count, [&](std::int64_t i, auto part) {
    const Vec value = fill_rest(get(row + i, part), kLowest, part);
    largest = value > largest ? value : largest;
  });
  return largest_of(largest);
}

}  // namespace mirrortrain::cpu
