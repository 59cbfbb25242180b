#pragma once

#include <type_traits>
#include <utility>

#include "kernels/cuda/launch.h"
#include "kernels/scalar/activations.h"
#include "kernels/scalar/recurrent.h"

// Shared by the forward and backward passes of recurrent layers.
namespace mirrortrain::cuda {

using ops::Cell;
using scalar::RecurrentShape;

/// Rows that a block runs through all time steps; a thread reads each weight once for all of them.
inline constexpr int kRecurrentRows = 4;
/// Inner-dimension elements of a product whose left factors are in shared memory.
inline constexpr int kRecurrentTile = kBlock / kRecurrentRows;

__device__ inline float activate(ops::ActivationKind kind, float x) {
  return scalar::with_activation(kind, [&](auto activation) { return activation.forward(x); });
}
__device__ inline float activation_gradient(ops::ActivationKind kind, float y, float dy) {
  return scalar::with_activation(kind, [&](auto activation) { return activation.backward(y, dy); });
}

/// [count] vectors of each row, `stride` apart.
struct LeftFactors {
  const float* data;
  std::int64_t stride;
};
/// Elements (step, block) of one unit: data[step * stride + block * next].
struct RightFactors {
  const float* data;
  std::int64_t stride, next;
};

/// The rows of a block; a thread processes one unit of all rows at a time.
struct BlockOfRows {
  RecurrentShape s;
  std::int64_t first;
  float* tile;  ///< shared, [kRecurrentRows][kRecurrentTile]

  __device__ bool has(int row) const { return first + row < s.rows; }

  /// Calls body(unit, whether there is such a unit) by all threads together, until every unit is processed.
  template <class Body>
  __device__ void each_unit(const Body& body) const {
    for (std::int64_t unit = threadIdx.x; unit - threadIdx.x < s.units; unit += kBlock) body(unit, unit < s.units);
    __syncthreads();
  }

  /// sums[row][block] += the sum over steps of left[row][step] right(step, block), in the order of the steps.
  template <int kBlocks>
  __device__ void add_product(float (&sums)[kRecurrentRows][kBlocks], std::int64_t steps, const LeftFactors& left,
                              const RightFactors& right, bool takes_part) const {
    const int row = threadIdx.x / kRecurrentTile, own = threadIdx.x % kRecurrentTile;
    for (std::int64_t begin = 0; begin < steps; begin += kRecurrentTile) {
      const std::int64_t count = steps - begin < kRecurrentTile ? steps - begin : kRecurrentTile;
      __syncthreads();
      if (own < count) tile[threadIdx.x] = has(row) ? left.data[(first + row) * left.stride + begin + own] : 0.0f;
      __syncthreads();
      const float* numbers = right.data + begin * right.stride;
      for (std::int64_t i = 0; takes_part && i < count; ++i, numbers += right.stride) {
#pragma unroll
        for (int block = 0; block < kBlocks; ++block) {
          const float number = numbers[block * right.next];
#pragma unroll
          for (int r = 0; r < kRecurrentRows; ++r) sums[r][block] += tile[r * kRecurrentTile + i] * number;
        }
      }
    }
  }
};

/// Calls function(std::integral_constant<Cell, ...>).
template <class Function>
void with_cell(Cell cell, const Function& function) {
  if (cell == Cell::kLstm) return function(std::integral_constant<Cell, Cell::kLstm>{});
  if (cell == Cell::kGru) return function(std::integral_constant<Cell, Cell::kGru>{});
  if (cell == Cell::kSimple) return function(std::integral_constant<Cell, Cell::kSimple>{});
  function(std::integral_constant<Cell, Cell::kGruResetBefore>{});
}

/// `count` floats in whole cache lines, as libraries want their operands aligned.
MIRRORTRAIN_HOST_DEVICE inline std::int64_t whole_lines(std::int64_t count) { return (count + 15) / 16 * 16; }

/// Parts of a workspace of floats.
struct Floats {
  float* next;
  float* take(std::int64_t count) { return std::exchange(next, next + whole_lines(count)); }
};

}  // namespace mirrortrain::cuda
