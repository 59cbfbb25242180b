#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/cuda/pack.h"
#include "kernels/cuda/tensor_cores.h"

// Products of small matrices on tensor cores by a warp, of bfloat16 or of float32 rounded to tf32, whose factors lie in
// shared memory or are sums of an earlier product. A fragment is a lane's part of a matrix, in registers (PTX ISA,
// "Matrix Fragments for mma.m16n8k16" and "for mma.m16n8k8"); with g = lane / 4 and t = lane % 4 it is
//   left    16 x kDepth   word 0: row g, word 1: row g + 8; words 2 and 3 the same in the second half of the columns
//   right   kDepth x 8    column g; word 0: the first half of the rows, word 1: the second
//   sums    16 x 8        columns 2 t and 2 t + 1 of row g, then of row g + 8
// of whose columns (rows of a right factor) each half is 16 bytes wide, and a lane has the t-th word of it: both types
// differ in nothing else.
namespace mirrortrain::cuda {

/// Terms of a sum that are added at once.
template <class T>
inline constexpr int kDepth = 32 / static_cast<int>(sizeof(T));

/// From one row to the next in shared memory: 16 bytes more than the elements need, so that eight rows are in different
/// banks.
template <class T, int kElements>
inline constexpr int kRowBytesOf = kElements* static_cast<int>(sizeof(T)) + 16;

struct LeftFragment {
  std::uint32_t word[4];
};
/// Two right factors beside each other: 16 columns.
struct RightFragments {
  std::uint32_t word[4];
};
using Sums = float[4];

__device__ inline int lane_row() { return static_cast<int>(threadIdx.x) % 32 / 4; }
__device__ inline int lane_word() { return static_cast<int>(threadIdx.x) % 4; }

/// Of factors that hold float32, the bits that tensor cores take.
template <class T>
__device__ inline void round_factor(std::uint32_t (&word)[4]) {
  if constexpr (std::is_same_v<T, float>) {
#pragma unroll
    for (int i = 0; i < 4; ++i) word[i] = rounded_to_tf32(word[i]);
  }
}

/// 16 rows of a matrix in shared memory from `rows` on, its `step`-th kDepth columns.
template <class T, int kRowBytes>
__device__ inline LeftFragment left_fragment(const std::byte* rows, int step) {
  const int lane = static_cast<int>(threadIdx.x) % 32, matrix = lane / 8;
  LeftFragment fragment;
  load_matrices(fragment.word, rows + (matrix % 2 * 8 + lane % 8) * kRowBytes + step * 32 + matrix / 2 * 16);
  round_factor<T>(fragment.word);
  return fragment;
}

/// The transpose of 16 rows from `rows` on: right factors whose columns they are.
template <class T, int kRowBytes>
__device__ inline RightFragments right_fragments(const std::byte* rows, int step) {
  const int lane = static_cast<int>(threadIdx.x) % 32, matrix = lane / 8;
  RightFragments fragments;
  load_matrices(fragments.word, rows + (matrix / 2 * 8 + lane % 8) * kRowBytes + step * 32 + matrix % 2 * 16);
  round_factor<T>(fragments.word);
  return fragments;
}

/// kDepth rows from `rows` on as rows of right factors, their 16 columns from `column` on. The rows are in the order
/// that as_left() gives to sums.
template <class T, int kRowBytes>
__device__ inline RightFragments right_fragments_of_rows(const std::byte* rows, int column) {
  RightFragments fragments;
  if constexpr (std::is_same_v<T, bfloat16>) {
    const int lane = static_cast<int>(threadIdx.x) % 32, matrix = lane / 8;
    load_transposed_matrices(fragments.word,
                             rows + (matrix % 2 * 8 + lane % 8) * kRowBytes + (column + matrix / 2 * 8) * 2);
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const std::byte* at = rows + (2 * lane_word() + i % 2) * kRowBytes + (column + lane_row() + i / 2 * 8) * 4;
      fragments.word[i] = rounded_to_tf32(*reinterpret_cast<const std::uint32_t*>(at));
    }
  }
  return fragments;
}

/// The `step`-th kDepth columns of sums as a left factor. Where a lane has too few of them, in float32, the even
/// columns come first: a product does not depend on the order of what it adds.
template <class T, int kTiles>
__device__ inline LeftFragment as_left(const Sums (&sums)[kTiles], int step) {
  LeftFragment fragment;
  if constexpr (std::is_same_v<T, bfloat16>) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const Sums& from = sums[2 * step + i / 2];
      fragment.word[i] = rounded_pair(from[i % 2 * 2], from[i % 2 * 2 + 1]);
    }
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      fragment.word[i] = rounded_to_tf32(bit_cast<std::uint32_t>(sums[step][i % 2 * 2 + i / 2]));
  }
  return fragment;
}

/// Two neighbouring sums += left · right.
template <class T>
__device__ inline void multiply_add(Sums& first, Sums& second, const LeftFragment& left, const RightFragments& right) {
  if constexpr (std::is_same_v<T, bfloat16>) {
    multiply_add_bf16(first, left.word, right.word[0], right.word[1]);
    multiply_add_bf16(second, left.word, right.word[2], right.word[3]);
  } else {
    multiply_add_tf32(first, left.word, right.word[0], right.word[1]);
    multiply_add_tf32(second, left.word, right.word[2], right.word[3]);
  }
}

/// sums += left · transpose of the rows from `rows` on, a row for each column of the sums.
template <class T, int kRowBytes, int kSteps, int kTiles>
__device__ inline void add_product_with_columns(Sums (&sums)[kTiles], const LeftFragment (&left)[kSteps],
                                                const std::byte* rows) {
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int pair = 0; pair < kTiles / 2; ++pair) {
      const auto right = right_fragments<T, kRowBytes>(rows + pair * 16 * kRowBytes, step);
      multiply_add<T>(sums[2 * pair], sums[2 * pair + 1], left[step], right);
    }
  }
}

/// sums += `left` · the rows from `rows` on, a row for each column of `left`.
template <class T, int kRowBytes, int kLeftTiles, int kTiles>
__device__ inline void add_product_with_rows(Sums (&sums)[kTiles], const Sums (&left)[kLeftTiles],
                                             const std::byte* rows) {
#pragma unroll
  for (int step = 0; step < kLeftTiles * 8 / kDepth<T>; ++step) {
    const LeftFragment of_step = as_left<T>(left, step);
#pragma unroll
    for (int pair = 0; pair < kTiles / 2; ++pair) {
      const auto right = right_fragments_of_rows<T, kRowBytes>(rows + step * kDepth<T> * kRowBytes, pair * 16);
      multiply_add<T>(sums[2 * pair], sums[2 * pair + 1], of_step, right);
    }
  }
}

}  // namespace mirrortrain::cuda
