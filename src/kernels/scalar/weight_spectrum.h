#pragma once

#include <cmath>
#include <cstdint>

#include "base/host_device.h"
#include "kernels/scalar/weight_bounds.h"

// Spectral normalization of weights: power iteration towards the largest singular value, for any memory layout.
namespace mirrortrain::scalar {

/// A weight as a matrix: a column for each position of its last axis, a row for each of the others.
struct WeightMatrix {
  StridedAxes rows, columns;
  int iterations = 1;  ///< of the power iteration

  /// Numbers of scratch memory that `normalize_spectrum` needs: a vector of rows, one of columns, and their sums.
  std::int64_t scratch() const { return rows.count() + columns.count() + 2; }
};

/// The factor that makes a vector's length 1, given the sum of its squares, as in Keras.
MIRRORTRAIN_HOST_DEVICE inline double to_length_one(double squares) {
  constexpr double kMost = 1e7;
  const double factor = squares > 0 ? 1 / std::sqrt(squares) : kMost;
  return factor < kMost ? factor : kMost;
}

}  // namespace mirrortrain::scalar
