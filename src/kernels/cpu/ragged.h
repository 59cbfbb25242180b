#pragma once

#include "kernels/cpu/micro_gemm.h"
#include "kernels/cpu/simd.h"

namespace mirrortrain::cpu {

/// The columns of a matrix after its last whole vector, copied to vectors of their own: [rows][kLanes], padded with
/// zeros.
inline void copy_last_columns(std::int64_t rows, std::int64_t columns, const float* from, std::int64_t stride,
                              float* to) {
  const std::int64_t whole = columns / kLanes * kLanes;
  for (std::int64_t row = 0; row < rows; ++row, from += stride, to += kLanes) {
    store(to, load_first(from + whole, columns - whole));
  }
}

/// As `multiply`, for any number of columns. `last` is what copy_last_columns made of b, `last_bias` of the bias;
/// `scratch` has rows * kLanes floats. All three are unused where `columns` is in whole vectors.
template <class Left>
void multiply_ragged(std::int64_t rows, std::int64_t columns, std::int64_t steps, const Left& a, const ConstRows& b,
                     const Rows& c, const Ends& ends, const float* last, const float* last_bias, float* scratch) {
  const std::int64_t whole = columns / kLanes * kLanes, count = columns - whole;
  multiply(rows, whole, steps, a, b, c, ends);
  if (count == 0) return;
  if (ends.accumulate) copy_last_columns(rows, columns, c.data, c.stride, scratch);
  multiply(rows, kLanes, steps, a, {last, kLanes}, {scratch, kLanes},
           {ends.accumulate, ends.bias ? last_bias : nullptr, ends.relu});
  for (std::int64_t row = 0; row < rows; ++row) {
    store_first(c.data + row * c.stride + whole, load(scratch + row * kLanes), count);
  }
}

}  // namespace mirrortrain::cpu
