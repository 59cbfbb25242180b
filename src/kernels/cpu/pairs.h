#pragma once

#include <cstdint>

#include "base/bfloat16.h"
#include "kernels/cpu/micro_gemm.h"

/// Small matrix multiplications of bfloat16 by the processor's instruction for pairs (AVX512_BF16): each lane adds the
/// products of two pairs to a float32.
namespace mirrortrain::cpu {

/// Elements of two neighbouring inner-dimension indices: the first in the lower half.
using Pair = std::uint32_t;

/// Whether this processor has the instruction but not the faster AMX, which a library uses. Otherwise the other
/// functions must not be called.
bool multiplies_pairs();

/// to[p][column] = rows 2p and 2p + 1 of `from`, `stride` apart; where `rows` is odd the last pair ends with 0.
/// `columns` is any number; `to` has rows of `to_stride` pairs.
void make_pairs(std::int64_t rows, std::int64_t columns, const bfloat16* from, std::int64_t stride, Pair* to,
                std::int64_t to_stride);

/// to = `from` rounded to bfloat16, to nearest even; denormals become 0, as in the processor's products of pairs.
void round_to_bfloat16(std::int64_t count, const float* from, bfloat16* to);

/// An element (row, pair of steps) is data[row * row_stride + pair * pair_stride].
struct PairScalars {
  const Pair* data;
  std::int64_t row_stride, pair_stride;

  PairScalars from_row(std::int64_t row) const { return {data + row * row_stride, row_stride, pair_stride}; }
};

/// An element (column, pair of steps) is data[column + pair * stride].
struct PairColumns {
  const Pair* data;
  std::int64_t stride;
};

/// c[row][column] = the sum over pairs of a(row, pair) * b(column, pair), or adds it to c, in the order of the pairs.
/// `columns` is a multiple of kLanes, at most panel_columns().
void multiply_pairs(std::int64_t rows, std::int64_t columns, std::int64_t pairs, const PairScalars& a,
                    const PairColumns& b, const Rows& c, bool accumulate);

}  // namespace mirrortrain::cpu
