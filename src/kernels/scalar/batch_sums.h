#pragma once

#include <cstdint>

#include "base/host_device.h"

// The sums of a batch that are added over the replicas, in double: each channel's sum of x, each channel's sum of x^2,
// the number of cells. Double keeps the variance where the mean is far from zero.
namespace mirrortrain::scalar {

/// Writes a channel's two sums, given those of x - pivot and of its square; with channel 0 also the number of cells.
MIRRORTRAIN_HOST_DEVICE inline void put_batch_sums(std::int64_t channel, std::int64_t channels, std::int64_t cells,
                                                   double pivot, double deviations, double squares, double* sums) {
  const auto count = static_cast<double>(cells);
  sums[channel] = count * pivot + deviations;
  sums[channels + channel] = squares + pivot * (2 * deviations + count * pivot);
  if (channel == 0) sums[2 * channels] = count;
}

MIRRORTRAIN_HOST_DEVICE inline double cells_of(const double* sums, std::int64_t channels) { return sums[2 * channels]; }

struct BatchStatistics {
  double mean, variance;  ///< the biased one
};

MIRRORTRAIN_HOST_DEVICE inline BatchStatistics batch_statistics(std::int64_t channel, std::int64_t channels,
                                                                const double* sums) {
  const double count = cells_of(sums, channels);
  if (count == 0) return {0, 0};  // every cell is masked
  const double mean = sums[channel] / count;
  const double spread = sums[channels + channel] / count - mean * mean;
  return {mean, spread < 0 ? 0 : spread};  // NaN propagates
}

/// A moving statistic's new value.
MIRRORTRAIN_HOST_DEVICE inline double moved(float moving, double of_batch, float momentum) {
  const auto kept = static_cast<double>(momentum);
  return static_cast<double>(moving) * kept + of_batch * (1 - kept);
}

}  // namespace mirrortrain::scalar
