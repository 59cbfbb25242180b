#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

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

/// Half precision numbers, as bytes, in float32.
inline std::vector<std::byte> floats_of_halves(std::span<const std::byte> halves) {
  std::vector<std::byte> floats(2 * halves.size());
  for (std::size_t at = 0; at + sizeof(std::uint16_t) <= halves.size(); at += sizeof(std::uint16_t)) {
    std::uint16_t half = 0;
    std::memcpy(&half, &halves[at], sizeof half);
    const float value = float_from_half(half);
    std::memcpy(&floats[2 * at], &value, sizeof value);
  }
  return floats;
}

}  // namespace mirrortrain
