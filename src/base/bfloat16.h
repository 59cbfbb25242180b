#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace mirrortrain {

/// The upper half of a float. Converting from float rounds to nearest, ties to even; a NaN stays a NaN.
struct bfloat16 {
  std::uint16_t bits = 0;

  bfloat16() = default;
  MIRRORTRAIN_HOST_DEVICE explicit bfloat16(float value) {
    const auto word = bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
    const std::uint32_t quiet_nan = (word >> 16) | 0x40u;
    bits = static_cast<std::uint16_t>((word & 0x7fffffffu) > 0x7f800000u ? quiet_nan : rounded);
  }
  MIRRORTRAIN_HOST_DEVICE operator float() const { return bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
};

static_assert(sizeof(bfloat16) == 2);

}  // namespace mirrortrain
