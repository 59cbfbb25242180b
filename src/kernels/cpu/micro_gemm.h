#pragma once

#include <cstdint>

/// Small matrix products whose operands lie in cache: what the own convolution and dense kernels are made of.
namespace mirrortrain::cpu {

/// An element (row, step) is data[row * row_stride + step * step_stride].
struct Scalars {
  const float* data;
  std::int64_t row_stride, step_stride;
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

/// Columns that one call of the inner loops takes at a time. Fastest where b has them packed: `pack_columns`.
std::int64_t panel_columns();

/// c[row][column] = (accumulate ? c : 0) + the sum over steps of a(row, step) * b[step][column], summed in the order of
/// the steps. `columns` is a multiple of kLanes; b and c have that many.
void multiply(std::int64_t rows, std::int64_t columns, std::int64_t steps, const Scalars& a, const ConstRows& b,
              const Rows& c, bool accumulate);

}  // namespace mirrortrain::cpu
