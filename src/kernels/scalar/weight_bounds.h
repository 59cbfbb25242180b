#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "base/host_device.h"

// Constraints on weights: their norms along some axes, or their signs, for any memory layout of these axes.
namespace mirrortrain::scalar {

/// Up to two axes of a tensor, as extents and distances in elements.
struct StridedAxes {
  std::int64_t outer = 1, inner = 1, outer_stride = 0, inner_stride = 0;

  MIRRORTRAIN_HOST_DEVICE std::int64_t count() const { return outer * inner; }
  MIRRORTRAIN_HOST_DEVICE std::int64_t offset(std::int64_t i) const {
    return i / inner * outer_stride + i % inner * inner_stride;
  }
};

/// What norms become, as in Keras: each comes by `rate` closer to what it is within [least, most]. Or, where weights
/// are `non_negative`, those below 0 become 0.
struct WeightBound {
  float least = 0, most = 0, rate = 1;
  bool non_negative = false;
};

/// A weight has a norm for each position of `kept`, over those of `reduced`, which is one element where it has none.
struct WeightBounds {
  WeightBound bound;
  StridedAxes kept, reduced;
};

/// The factor of the weights of a norm, as in Keras's MinMaxNorm; MaxNorm's is that of rate 1, and UnitNorm's that of
/// the bounds 1 and 1.
MIRRORTRAIN_HOST_DEVICE inline float norm_factor(double squares, const WeightBound& bound) {
  const auto norm = static_cast<float>(std::sqrt(squares));
  const float raised = norm < bound.least ? bound.least : norm, within = raised < bound.most ? raised : bound.most;
  const float desired = bound.rate == 1 ? within : bound.rate * within + (1 - bound.rate) * norm;
  return desired / (1e-7f + norm);
}

/// NaN stays NaN.
MIRRORTRAIN_HOST_DEVICE inline float without_sign(float weight) { return weight < 0 ? 0.0f : weight; }

}  // namespace mirrortrain::scalar
