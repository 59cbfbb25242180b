#pragma once

#include <cmath>
#include <cstdint>

#include "base/host_device.h"
#include "base/philox.h"
#include "kernels/scalar/math.h"

namespace mirrortrain::scalar {

/// Two numbers of the standard normal distribution from two random words (Box and Muller, 1958).
struct Normals {
  float first, second;

  MIRRORTRAIN_HOST_DEVICE Normals(std::uint32_t word0, std::uint32_t word1) {
    // Above 0, which has no logarithm.
    const float radius = std::sqrt(-2.0f * log(uniform_from_bits(word0) + 0.5f / 16777216.0f));
    const float angle = 6.28318530717958647693f * uniform_from_bits(word1);
    first = radius * std::cos(angle);
    second = radius * std::sin(angle);
  }
};

}  // namespace mirrortrain::scalar
