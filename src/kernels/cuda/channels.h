#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cuda/pack.h"
#include "kernels/kernel.h"

// Tensors as [cells, channels], with adjacent threads on packs of channels, so that each keeps its channels' values in
// registers.
namespace mirrortrain::cuda {

struct Cells {
  std::int64_t cells = 0, channels;

  explicit Cells(const TensorView& x) : channels(x.shape.back()) {
    if (channels > 0) cells = x.elements() / channels;
  }
};

/// A block is `width` packs of channels wide and kBlock / width cells high. blockIdx.x gives the channels, blockIdx.y
/// which part of the cells.
struct ChannelBlocks {
  unsigned width = 1;
  std::int64_t across, high;

  ChannelBlocks(std::int64_t channels, int count) {
    const std::int64_t packs = channels / count;
    while (width < packs && width < kWarpSize) width *= 2;
    across = (packs + width - 1) / width;
    high = kBlock / width;
  }
  dim3 block() const { return {width, kBlock / width}; }
  dim3 grid(std::int64_t parts) const {
    return {static_cast<unsigned>(across), static_cast<unsigned>(std::min<std::int64_t>(parts, 65535))};
  }
  /// For kernels that loop over the cells with cell_step(), a few for each thread.
  dim3 grid_of_loops(std::int64_t cells) const {
    constexpr std::int64_t kFewCells = 4;
    return grid(
        std::min(parts(cells, kFewCells), std::max<std::int64_t>(1, max_blocks() / std::max<std::int64_t>(1, across))));
  }
  /// Parts of so many cells per thread.
  std::int64_t parts(std::int64_t cells, std::int64_t cells_per_thread) const {
    return (cells + high * cells_per_thread - 1) / (high * cells_per_thread);
  }
};

/// The first of this thread's channels, and its iteration over the cells.
template <int kCount>
__device__ inline std::int64_t channel_of_thread() {
  return (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * kCount;
}
__device__ inline std::int64_t first_cell() { return static_cast<std::int64_t>(blockIdx.y) * blockDim.y + threadIdx.y; }
__device__ inline std::int64_t cell_step() { return static_cast<std::int64_t>(gridDim.y) * blockDim.y; }

/// A float per channel; `otherwise` where there is no vector.
template <int kCount>
__device__ inline void load_channels(float (&to)[kCount], const float* from, std::int64_t channel,
                                     float otherwise = 0) {
  for (int i = 0; i < kCount; ++i) to[i] = from == nullptr ? otherwise : from[channel + i];
}

}  // namespace mirrortrain::cuda
