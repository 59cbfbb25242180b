#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace mirrortrain {

/// The value of a half precision number, which float32 holds exactly.
inline float float_from_half(std::uint16_t half) {
  const int exponent = (half >> 10) & 31, fraction = half & 1023;
  const float sign = half & 0x8000 ? -1.0f : 1.0f;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  if (exponent == 31) {
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN() : sign * std::numeric_limits<float>::infinity();
  }
  return sign * std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
}

}  // namespace mirrortrain
