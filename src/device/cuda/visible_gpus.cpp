#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "device/cuda/cuda_check.h"
#include "device/cuda/gpus.h"

namespace mirrortrain::cuda {
namespace {

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string reason_of(cudaError_t error) {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  if (error == cudaErrorInsufficientDriver && driver == 0) return "no GPU: no NVIDIA driver is installed";
  if (error == cudaErrorInsufficientDriver) {
    return fmt::format("no GPU: the NVIDIA driver is for CUDA {}, this build needs {}; update the driver",
                       version_text(driver), version_text(CUDART_VERSION));
  }
  if (error == cudaErrorStubLibrary) {
    return "no GPU: the toolkit's stub of libcuda.so.1 is loaded instead of an NVIDIA driver's";
  }
  if (error == cudaErrorNoDevice) {
    const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
    return visible ? fmt::format("no GPU: the driver shows none with CUDA_VISIBLE_DEVICES={}", visible)
                   : "no GPU: the driver shows none";
  }
  return fmt::format("no GPU: cudaGetDeviceCount: {}", cudaGetErrorString(error));
}

Link link_between(int from, int to) {
  int access = 0, atomics = 0;
  if (cudaDeviceGetP2PAttribute(&access, cudaDevP2PAttrAccessSupported, from, to) != cudaSuccess) access = 0;
  // Atomics on a peer's memory are native only over NVLink.
  if (cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, from, to) != cudaSuccess) atomics = 0;
  cudaGetLastError();  // a failed query must not be reported by a later call
  if (access == 0) return Link::kThroughHost;
  return atomics != 0 ? Link::kNvlink : Link::kPcie;
}

Gpu gpu_of(int index, int count) {
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, index) != cudaSuccess) return {};
  Gpu gpu{properties.name, properties.totalGlobalMem, properties.major, properties.minor, {}, {}};
  char bus[32] = "";
  if (cudaDeviceGetPCIBusId(bus, sizeof(bus), index) == cudaSuccess) gpu.pci_bus_id = bus;
  for (int other = 0; other < count; ++other) {
    gpu.links.push_back(other == index ? Link::kThroughHost : link_between(index, other));
  }
  return gpu;
}

Gpus ask_driver() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (error != cudaSuccess) return {{}, reason_of(error)};
  if (count == 0) return {{}, reason_of(cudaErrorNoDevice)};
  Gpus found;
  for (int index = 0; index < count; ++index) {
    found.gpus.push_back(gpu_of(index, count));
    const Gpu& gpu = found.gpus.back();
    // All or none, so that cuda:K is the same GPU for every program on the machine.
    if (!runs_on(MIRRORTRAIN_CUDA_ARCHITECTURES, gpu.major, gpu.minor)) {
      std::string built_for = MIRRORTRAIN_CUDA_ARCHITECTURES;
      std::ranges::replace(built_for, ',', ';');
      return {{},
              fmt::format("no GPU: cuda:{0} ({1}) has compute capability {2}.{3}, this build is for {4}; build with "
                          "-D MIRRORTRAIN_CUDA_ARCHITECTURES='{4};{2}{3}', or leave it out of CUDA_VISIBLE_DEVICES",
                          index, gpu.name, gpu.major, gpu.minor, built_for)};
    }
  }
  return found;
}

}  // namespace

Gpus visible_gpus() {
  static const Gpus found = ask_driver();  // slow, and constant for the process's lifetime
  return found;
}

void enable_peer_access(std::span<const int> gpus) {
  for (const int gpu : gpus) {
    const CurrentDevice current(gpu);
    for (const int peer : gpus) {
      int possible = 0;
      if (peer != gpu) check(cudaDeviceCanAccessPeer(&possible, gpu, peer), "cudaDeviceCanAccessPeer");
      if (possible == 0) continue;
      const cudaError_t error = cudaDeviceEnablePeerAccess(peer, 0);
      if (error == cudaErrorPeerAccessAlreadyEnabled) {
        cudaGetLastError();  // must not be reported by a later call
      } else {
        check(error, "cudaDeviceEnablePeerAccess");
      }
    }
  }
}

}  // namespace mirrortrain::cuda
