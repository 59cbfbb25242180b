#pragma once

#include <cstddef>

#include "graph/ops/batch_norm.h"
#include "kernels/kernel.h"

namespace mirrortrain::cuda {

/// A channel's variance that is less than this part of its mean square is not taken from sums of squares in float:
/// their error, a few 2^-20 of the mean square where parts are added in float, would be more than 2^-13 of the
/// variance.
inline constexpr double kLeastSpread = 1.0 / 64;

/// Batch normalization, perhaps with a residual, that starts from sums which are there already, as a convolution's
/// epilogue leaves them, and reads x a second time only in channels whose mean is far from 0 (kLeastSpread) or whose
/// squares overflowed. In bfloat16 alone, whose own rounding is more than the sums'. The same sums give the same bits.
class BatchNormOfSums {
 public:
  /// `x`: its dtype and shape [n, ..., channels]; the data are not used. Throws Error for another dtype than bfloat16.
  BatchNormOfSums(const ops::BatchNorm& op, const TensorView& x);

  std::size_t workspace_bytes() const;

  /// `args` as the op's own kernel has them, with at least one row of x, and with the residual as a sixth input if
  /// there is one; `workspace` has workspace_bytes(), aligned to 8. `sums` and `squares`: [channels] in device memory,
  /// the sums of the elements of x and of their squares, which are read on `stream`. Throws Error if a launch fails.
  void enqueue(Stream& stream, const KernelArgs& args, const float* sums, const float* squares) const;

 private:
  ops::BatchNorm op_;
  TensorView x_;
};

}  // namespace mirrortrain::cuda
