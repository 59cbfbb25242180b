#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/host_device.h"
#include "base/shape.h"
#include "base/tensor_view.h"

// How losses and metrics iterate over a row of the last axis, on every device: a thread in vectors of floats on the CPU
// (kernels/cpu/row.h), a team of threads on a GPU (kernels/cuda/team.h). A Row has, for functions of a place `i`:
//   Real                    float or a vector of floats; functions of the row's numbers are written for either
//   each(count, body)       body(i) at every place
//   load(from, i), store(to, i, value), index(i)
//   kKeeps                  whether stored values are better reread than recomputed
//   sum(count, value)       in float, in a fixed order
//   exact_sum(count, value) in double; exact_sums: of a Two
//   largest(count, value)   NaN is ignored
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
  std::int64_t stride;          ///< elements from one position to the next
  std::int64_t per_row;         ///< positions of a batch's row, at least 1

  /// `of_longer`: the elements that count of a position, if `y` has more; else 0.
  explicit PositionShape(const Shape& y, std::int64_t of_longer = 0)
      : count(y.back() == 0 ? 0 : y.elements() / y.back()),
        classes(of_longer > 0 ? of_longer : y.back()),
        stride(y.back()),
        per_row(count == 0 ? 1 : count / y[0]) {}
};

/// A mask of positions, or of the first axes of them (graph/ops/mask.h).
struct PositionMask {
  const float* of = nullptr;  ///< null: every position counts
  std::int64_t together = 1;  ///< positions of one number of the mask

  /// A kernel's input `number`, which may be absent.
  PositionMask(std::span<const TensorView> inputs, std::size_t number, const PositionShape& shape) {
    if (number >= inputs.size() || inputs[number].data == nullptr) return;
    of = inputs[number].as<const float>();
    together = std::max<std::int64_t>(1, shape.count / std::max<std::int64_t>(1, inputs[number].elements()));
  }

  MIRRORTRAIN_HOST_DEVICE bool counts(std::int64_t position) const {
    return of == nullptr || of[position / together] != 0;
  }
};

/// A position's weight in counts of positions.
struct CountOfPosition {
  PositionMask mask;

  template <class Row>
  MIRRORTRAIN_HOST_DEVICE double operator()(Row, std::int64_t i, std::int64_t = 1) const {
    return mask.counts(i) ? 1.0 : 0.0;
  }
};

/// A loss or metric that is the mean of elementwise terms: several positions can be combined into one.
struct ElementwiseMean {};

}  // namespace mirrortrain::scalar
