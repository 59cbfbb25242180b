#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "simulated_gpu/host_cuda.h"
#include "simulated_gpu/host_stream.h"

// Takes the place of src/kernels/cuda/runtime.h where tests compile the custom CUDA kernels for the host: its folder is
// searched before src/.
namespace mirrortrain::cuda {

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
  run_on(stream, [=] { host::run_grid(grid, block, shared_bytes, [&] { kernel(arguments...); }); });
}

template <class T>
T* shared_memory() {
  return reinterpret_cast<T*>(host::dynamic_shared());
}

}  // namespace mirrortrain::cuda
