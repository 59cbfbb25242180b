#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "base/host_device.h"

// Weights whose norms along some axes are kept within a bound, for any memory layout of these axes.
namespace mirrortrain::scalar {

/// Up to two axes of a tensor, as extents and distances in elements.
struct StridedAxes {
  std::int64_t outer = 1, inner = 1, outer_stride = 0, inner_stride = 0;

  MIRRORTRAIN_HOST_DEVICE std::int64_t count() const { return outer * inner; }
  MIRRORTRAIN_HOST_DEVICE std::int64_t offset(std::int64_t i) const {
    return i / inner * outer_stride + i % inner * inner_stride;
  }
};

/// A weight has a norm for each position of `kept`, over those of `reduced`.
struct MaxNorms {
  float max_value = 0;
  StridedAxes kept, reduced;
};

/// The factor of the weights of a norm, as in Keras's MaxNorm.
MIRRORTRAIN_HOST_DEVICE inline float max_norm_factor(double squares, float max_value) {
  const auto norm = static_cast<float>(std::sqrt(squares));
  return (norm < max_value ? norm : max_value) / (1e-7f + norm);
}

}  // namespace mirrortrain::scalar
