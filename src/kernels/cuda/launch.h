#pragma once

#include <algorithm>
#include <cstdint>

#include "device/device.h"
#include "kernels/cuda/runtime.h"

// Launching custom kernels, and indexing their threads.
namespace mirrortrain::cuda {

inline constexpr unsigned kWarpSize = 32, kAllLanes = 0xffffffffu;

/// The default number of threads per block.
inline constexpr unsigned kBlock = 256;

/// Blocks for `work` items with `per_block` in each, up to max_blocks().
inline unsigned blocks_for(std::int64_t work, std::int64_t per_block = kBlock) {
  return static_cast<unsigned>(std::min((work + per_block - 1) / per_block, max_blocks()));
}

/// This thread among all of a one-dimensional grid, and how many there are.
__device__ inline std::int64_t grid_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t grid_threads() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

}  // namespace mirrortrain::cuda
