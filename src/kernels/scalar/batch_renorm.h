#pragma once

#include <cmath>

#include "base/host_device.h"
#include "graph/ops/synchronized_batch_norm.h"
#include "kernels/scalar/batch_sums.h"

namespace mirrortrain::scalar {

/// A channel's mean and standard deviation, with epsilon, as they move.
struct RenormBefore {
  float renorm_mean, renorm_deviation, moving_mean, moving_deviation;
};

struct Renormed {
  double scale, shift;  ///< what corrects the normalized values
  double renorm_mean, renorm_deviation, moving_mean, moving_deviation, moving_variance;  ///< the new statistics
};

/// As in Keras: a batch's statistics corrected to the ones before it.
MIRRORTRAIN_HOST_DEVICE inline Renormed renormed(const ops::RenormOptions& options, const BatchStatistics& batch,
                                                 const RenormBefore& before) {
  const auto epsilon = static_cast<double>(options.epsilon);
  const double deviation = std::sqrt(batch.variance + epsilon), least = std::sqrt(epsilon);
  const auto known = static_cast<double>(before.renorm_deviation);
  const double divisor = known > least ? known : least;  // not 0 at the start
  double scale = deviation / divisor, shift = (batch.mean - static_cast<double>(before.renorm_mean)) / divisor;
  const auto most_shift = static_cast<double>(options.most_shift);
  if (scale < static_cast<double>(options.least_scale)) scale = static_cast<double>(options.least_scale);
  if (scale > static_cast<double>(options.most_scale)) scale = static_cast<double>(options.most_scale);
  if (shift < -most_shift) shift = -most_shift;
  if (shift > most_shift) shift = most_shift;
  const double moving_deviation = moved(before.moving_deviation, deviation, options.momentum);
  const double variance = moving_deviation * moving_deviation - epsilon;
  return {scale,
          shift,
          moved(before.renorm_mean, batch.mean, options.renorm_momentum),
          moved(before.renorm_deviation, deviation, options.renorm_momentum),
          moved(before.moving_mean, batch.mean, options.momentum),
          moving_deviation,
          variance > 0 ? variance : 0};
}

}  // namespace mirrortrain::scalar
