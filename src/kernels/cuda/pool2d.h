#pragma once

#include "kernels/cuda/pack.h"
#include "kernels/scalar/pool2d.h"

namespace mirrortrain::cuda {

using scalar::Cell;
using scalar::PoolShape;
using scalar::Range;

/// Calls body(cell) for the packs of kCount channels of [rows, height, width, channels] that are this thread's.
/// `channels` is a multiple of kCount.
template <int kCount, class Body>
__device__ inline void each_cell(std::int64_t rows, std::int64_t height, std::int64_t width, std::int64_t channels,
                                 const Body& body) {
  const std::int64_t packs = channels / kCount, all = rows * height * width * packs;
  for (std::int64_t i = grid_thread(); i < all; i += grid_threads()) {
    const Division cell = divide(i, packs), line = divide(cell.quotient, width), row = divide(line.quotient, height);
    body(Cell{row.quotient, static_cast<int>(row.rest), static_cast<int>(line.rest), cell.rest * kCount, i * kCount});
  }
}

}  // namespace mirrortrain::cuda
