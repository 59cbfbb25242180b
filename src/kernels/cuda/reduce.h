#pragma once

#include "kernels/cuda/launch.h"

// Reductions of a warp or a block in a fixed tree, so that they are bitwise reproducible. Every thread must take part,
// and the block must consist of whole warps.
namespace mirrortrain::cuda {

/// combine() over the lanes of a warp; every lane gets the result.
template <class T, class Combine>
__device__ inline T warp_reduce(T value, const Combine& combine) {
#pragma unroll
  for (int distance = kWarpSize / 2; distance > 0; distance /= 2) {
    value = combine(value, __shfl_xor_sync(kAllLanes, value, distance));
  }
  return value;
}

/// combine() over a one-dimensional block; every thread gets the result.
template <class T, class Combine>
__device__ inline T block_reduce(T value, T neutral, const Combine& combine) {
  __shared__ T of_warp[kWarpSize];
  const unsigned warp = threadIdx.x / kWarpSize, lane = threadIdx.x % kWarpSize;
  value = warp_reduce(value, combine);
  if (blockDim.x == kWarpSize) return value;
  if (lane == 0) of_warp[warp] = value;
  __syncthreads();
  value = warp_reduce(lane < blockDim.x / kWarpSize ? of_warp[lane] : neutral, combine);
  __syncthreads();  // before the next call writes
  return value;
}

template <class T>
struct Plus {
  __device__ T operator()(T a, T b) const { return a + b; }
};

template <class T>
__device__ inline T block_sum(T value) {
  return block_reduce(value, T{0}, Plus<T>{});
}

/// The sum of `count` numbers in memory, by a whole block: a strand per thread, then a tree.
__device__ inline double block_sum_of(const double* from, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += blockDim.x) sum += from[i];
  return block_sum(sum);
}

/// Whether this block is the last of its grid to arrive here: the others' earlier writes are then visible to it. Every
/// thread must call it. `blocks_done` is 0 before and after (KernelArgs::blocks_done).
__device__ inline bool is_last_block(unsigned* blocks_done) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    is_last = atomicAdd(blocks_done, 1u) == gridDim.x * gridDim.y - 1;
    if (is_last) *blocks_done = 0;
  }
  __syncthreads();
  __threadfence();
  return is_last;
}

}  // namespace mirrortrain::cuda
