#pragma once

#include <cstdint>
#include <span>

#include "kernels/cpu/simd.h"

/// Small matrix multiplications with operands in cache, from which the custom convolution and dense kernels are built.
namespace mirrortrain::cpu {

/// An element (row, step) is data[row * row_stride + step * step_stride].
struct Scalars {
  const float* data;
  std::int64_t row_stride, step_stride;

  const float* step(std::int64_t number) const { return data + number * step_stride; }
  Scalars from_row(std::int64_t row) const { return {data + row * row_stride, row_stride, step_stride}; }
};

/// An element (row, step) is data[row * row_stride + offsets[step]]: a convolution's pixels and taps.
struct Taps {
  const float* data;
  std::int64_t row_stride;
  const std::int64_t* offsets;

  const float* step(std::int64_t number) const { return data + offsets[number]; }
  Taps from_row(std::int64_t row) const { return {data + row * row_stride, row_stride, offsets}; }
};

/// Rows of floats, `stride` apart.
struct Rows {
  float* data;
  std::int64_t stride;
};
struct ConstRows {
  const float* data;
  std::int64_t stride;
};

/// The epilogue applied to c.
struct Ends {
  bool accumulate = false;      ///< adds to c
  const float* bias = nullptr;  ///< is added to each row, where not accumulating
  bool relu = false;            ///< at the end
};

/// Columns that the inner loops process at a time: b is read fastest in pieces of this width.
std::int64_t panel_columns();

/// c[row][column] = the sum over steps of a(row, step) * b[step][column], in the order of the steps, and `ends`.
/// `columns` is a multiple of kLanes; b, c and the bias have that many. Meanwhile brings `next`, which the caller reads
/// afterwards, into the second-level cache: hardware does not foresee rows that several streams read side by side.
void multiply(std::int64_t rows, std::int64_t columns, std::int64_t steps, const Scalars& a, const ConstRows& b,
              const Rows& c, const Ends& ends, std::span<const float> next = {});
void multiply(std::int64_t rows, std::int64_t columns, std::int64_t steps, const Taps& a, const ConstRows& b,
              const Rows& c, const Ends& ends, std::span<const float> next = {});

/// The columns of a matrix after its last whole vector, copied to vectors of their own: [rows][kLanes], padded with
/// zeros.
inline void copy_last_columns(std::int64_t rows, std::int64_t columns, const float* from, std::int64_t stride,
                              float* to) {
  const std::int64_t whole = columns / kLanes * kLanes;
  for (std::int64_t row = 0; row < rows; ++row, from += stride, to += kLanes) {
    store(to, load_first(from + whole, columns - whole));
  }
}

/// As `multiply`, for any number of columns. `last` is the result of copy_last_columns for b, `last_bias` for the bias;
/// `scratch` has rows * kLanes floats. All three are unused where `columns` is in whole vectors.
template <class Left>
void multiply_ragged(std::int64_t rows, std::int64_t columns, std::int64_t steps, const Left& a, const ConstRows& b,
                     const Rows& c, const Ends& ends, const float* last, const float* last_bias, float* scratch,
                     std::span<const float> next = {}) {
  const std::int64_t whole = columns / kLanes * kLanes, count = columns - whole;
  multiply(rows, whole, steps, a, b, c, ends, next);
  if (count == 0) return;
  if (ends.accumulate) copy_last_columns(rows, columns, c.data, c.stride, scratch);
  multiply(rows, kLanes, steps, a, {last, kLanes}, {scratch, kLanes},
           {ends.accumulate, ends.bias ? last_bias : nullptr, ends.relu});
  for (std::int64_t row = 0; row < rows; ++row) {
    store_first(c.data + row * c.stride + whole, load(scratch + row * kLanes), count);
  }
}

}  // namespace mirrortrain::cpu
