#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>

#include "device/device.h"

#if defined(__CUDACC__)
#include <cuda_runtime.h>

#include "device/cuda/cuda_check.h"
#include "device/cuda/cuda_stream.h"
#else
#include "device/cpu/host_stream.h"
#include "kernels/cuda/host_cuda.h"
#endif

// The one way to launch an own kernel, for .cu files that nvcc compiles for a GPU and tests compile as plain C++.
namespace mirrortrain::cuda {

#if defined(__CUDACC__)

/// Some blocks for every multiprocessor of a large GPU; kernels loop where there is more work.
inline std::int64_t max_blocks() { return 2048; }

/// Puts a kernel into the stream; a grid without blocks is nothing to do. Throws Error where the launch is refused.
template <class... Parameters>
void launch(Stream& stream, dim3 grid, dim3 block, std::size_t shared_bytes, void (*kernel)(Parameters...),
            std::type_identity_t<Parameters>... arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  // Not <<<>>> and cudaGetLastError: a library may have left the thread an error that it did not mind itself.
  void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
  const auto& on = static_cast<CudaStream&>(stream);
  check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, pointers, shared_bytes, on.get()),
        "launch of a kernel", on.device());
}

/// The block's dynamic shared memory, aligned to 16 bytes.
template <class T>
__device__ T* shared_memory() {
  extern __shared__ uint4 dynamic_shared_memory[];
  return reinterpret_cast<T*>(dynamic_shared_memory);
}

#else

/// Tests change it to run kernels in other geometries.
inline std::int64_t host_max_blocks = 2048;
inline std::int64_t max_blocks() { return host_max_blocks; }
/// Of this process so far, when they are enqueued.
inline std::atomic<std::int64_t> host_launches = 0;

template <class... Parameters>
void launch(Stream& stream, dim3 grid, dim3 block, std::size_t shared_bytes, void (*kernel)(Parameters...),
            std::type_identity_t<Parameters>... arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  ++host_launches;
  static_cast<HostStream&>(stream).run(
      [=] { host::run_grid(grid, block, shared_bytes, [&] { kernel(arguments...); }); });
}

template <class T>
T* shared_memory() {
  return reinterpret_cast<T*>(host::dynamic_shared());
}

#endif

inline constexpr unsigned kWarpSize = 32, kAllLanes = 0xffffffffu;

/// Threads of a block where nothing else decides.
inline constexpr unsigned kBlock = 256;

/// Blocks for `work` items of which each takes `per_block`, up to max_blocks().
inline unsigned blocks_for(std::int64_t work, std::int64_t per_block = kBlock) {
  return static_cast<unsigned>(std::min((work + per_block - 1) / per_block, max_blocks()));
}

/// This thread among all of a one-dimensional grid, and how many there are.
__device__ inline std::int64_t grid_thread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t grid_threads() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

}  // namespace mirrortrain::cuda
