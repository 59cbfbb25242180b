#include "device/cuda/cuda_device.h"
#include "kernels/cuda/registry.h"
#include "kernels/harness.h"
#include "kernels/on_device.h"

namespace mirrortrain::testing {

const KernelRegistry& registry_under_test() {
  static const std::unique_ptr<Device> gpu = [] {
    auto device = make_cuda_device(0);
    device->enter_thread();
    return device;
  }();
  // Without tf32, whose 10 bits would need tolerances that hide errors.
  static const KernelRegistry kernels = cuda::make_kernel_registry(0, {.tf32 = false});
  static const KernelRegistry registry = on_device(kernels, *gpu);
  return registry;
}

}  // namespace mirrortrain::testing
