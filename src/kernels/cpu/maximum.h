#pragma once

#include "kernels/cpu/simd_elements.h"

namespace mirrortrain::cpu {

/// The largest of the values taken so far and where it was: the first of equals. A NaN is taken and stays.
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

}  // namespace mirrortrain::cpu
