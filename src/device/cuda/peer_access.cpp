#include <cuda_runtime_api.h>

#include "device/cuda/cuda_check.h"
#include "device/cuda/gpus.h"

namespace mirrortrain::cuda {

void enable_peer_access(std::span<const int> gpus) {
  for (const int gpu : gpus) {
    const CurrentDevice current(gpu);
    for (const int peer : gpus) {
      int possible = 0;
      if (peer != gpu) check(cudaDeviceCanAccessPeer(&possible, gpu, peer), "cudaDeviceCanAccessPeer");
      if (possible == 0) continue;
      const cudaError_t error = cudaDeviceEnablePeerAccess(peer, 0);
      if (error == cudaErrorPeerAccessAlreadyEnabled) {
        cudaGetLastError();  // must not look like a later call's failure
      } else {
        check(error, "cudaDeviceEnablePeerAccess");
      }
    }
  }
}

}  // namespace mirrortrain::cuda
