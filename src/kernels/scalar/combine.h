#pragma once

#include "base/host_device.h"
#include "graph/ops/combine.h"
#include "kernels/scalar/walk.h"

// The arithmetic of ops::Combine, for all devices.
namespace mirrortrain::scalar {

struct Add {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a + b; }
};
struct Multiply {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a * b; }
};
/// A NaN on either side propagates.
struct Maximum {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a >= b || a != a ? a : b; }
};
struct Minimum {
  MIRRORTRAIN_HOST_DEVICE float operator()(float a, float b) const { return a <= b || a != a ? a : b; }
};

/// The elements of y, a and b, with axes of 1 broadcast.
inline Walk<3> combine_walk(const Shape& y, const Shape& a, const Shape& b) {
  return {y, {dense_strides(y), stretched_strides(a, y), stretched_strides(b, y)}};
}

/// Calls function(functor) with that of `kind`.
template <class Function>
void with_combine(ops::CombineKind kind, const Function& function) {
  switch (kind) {
    case ops::CombineKind::kAdd: return function(Add{});
    case ops::CombineKind::kMultiply: return function(Multiply{});
    case ops::CombineKind::kMaximum: return function(Maximum{});
    case ops::CombineKind::kMinimum: return function(Minimum{});
  }
}

/// Whether the gradient of the maximum, or of the minimum, goes to a (`of_first`), or else to b.
MIRRORTRAIN_HOST_DEVICE inline bool is_chosen(ops::CombineKind kind, bool of_first, float a, float b) {
  return of_first == (kind == ops::CombineKind::kMaximum ? a >= b : a <= b);
}

/// A sum over some axes: the elements of the output, and for each of them those that are added.
struct SumWalk {
  Walk<1> kept;     ///< where an output's first term is, by the output's number
  Walk<1> reduced;  ///< where a term is, from the first one

  /// From `x` to `sum`, both with rows; `sum` without rows if it has one axis fewer.
  SumWalk(const Shape& x, const Shape& sum) {
    const std::size_t before = x.rank() - sum.rank();
    Shape kept_shape = x, reduced_shape = x;
    for (std::size_t axis = 0; axis < x.rank(); ++axis) {
      const bool is_kept = axis >= before && sum[axis - before] == x[axis];
      (is_kept ? reduced_shape : kept_shape)[axis] = 1;
    }
    kept = Walk<1>(kept_shape, {dense_strides(x)});
    reduced = Walk<1>(reduced_shape, {dense_strides(x)});
  }
};

}  // namespace mirrortrain::scalar
