#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "device/cuda/cuda_check.h"
#include "device/cuda/cuda_stream.h"

// CUDA functions that custom kernels use beyond the language. Tests compile the same .cu files as plain C++ with
// another header of this name.
namespace mirrortrain::cuda {

/// Several blocks for every multiprocessor of a large GPU; kernels loop if there is more work.
inline std::int64_t max_blocks() { return 2048; }

/// Enqueues a kernel; does nothing for a grid without blocks. Throws Error if the launch fails.
template <class... Parameters>
void launch(Stream& stream, dim3 grid, dim3 block, std::size_t shared_bytes, void (*kernel)(Parameters...),
            std::type_identity_t<Parameters>... arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  // Not <<<>>> and cudaGetLastError: a library may have left an error on the thread that it ignored itself.
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

}  // namespace mirrortrain::cuda
