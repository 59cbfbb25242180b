#pragma once

#include <algorithm>
#include <cstdint>

#include "base/host_device.h"
#include "base/shape.h"

// How losses and metrics go over a row of the last axis, whatever computes them: a thread in vectors of floats on the
// CPU (kernels/cpu/row.h), a team of threads on a GPU (kernels/cuda/team.h). A Row has, for functions of a place `i`:
//   Real                    float or a vector of floats; functions of the row's numbers are written for either
//   each(count, body)       body(i) at every place
//   load(from, i), store(to, i, value), index(i)
//   kKeeps                  whether what was stored is better read again than computed again
//   sum(count, value)       in float, in a fixed order
//   exact_sum(count, value) in double; exact_sums: of a Two
//   largest(count, value)   NaN counts for nothing
//   smallest(count, value)  of integers
// Every thread of the team calls them and gets the result.
namespace mirrortrain::scalar {

template <class Number>
struct Two {
  Number first, second;
};

/// Predictions by position.
struct PositionShape {
  std::int64_t count, classes;  ///< positions; elements of one
  std::int64_t per_row;         ///< positions of a batch's row, at least 1

  explicit PositionShape(const Shape& y)
      : count(y.back() == 0 ? 0 : y.elements() / y.back()), classes(y.back()), per_row(count == 0 ? 1 : count / y[0]) {}
};

/// A loss or metric that is the mean of numbers that each come of one element: several positions can be taken as one.
struct ElementwiseMean {};

}  // namespace mirrortrain::scalar
