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
/// epilogue leaves them, and reads x a second time only in channels whose mean is far from 0 (kLeastSpread). In
/// bfloat16 alone, whose own rounding is more than the sums'. The same sums give the same bits.
class BatchNormOfSums {
 public:
  /// `x`: its dtype and shape. Throws Error for another dtype than bfloat16.
  BatchNormOfSums(const ops::BatchNorm& op, const TensorView& x);

  std::size_t workspace_bytes() const;

  /// `args` as the op's own kernel has them, at least one row of x; `workspace` is aligned to 8 bytes. `sums` and
  /// `squares`: of the elements of x, by channel.
  void enqueue(Stream& stream, const KernelArgs& args, const float* sums, const float* squares) const;

 private:
  ops::BatchNorm op_;
  TensorView x_;
};

}  // namespace mirrortrain::cuda
