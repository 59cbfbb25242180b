#include "device/cuda/cuda_device.h"
#include "kernels/cuda/registry.h"
#include "kernels/harness.h"
#include "kernels/on_device.h"

namespace mirrortrain::testing {

const KernelRegistry& registry_under_test() {
  // Never destroyed: as the program ends, parts of cuDNN that were loaded later are gone before what is made here.
  static Device& gpu = *[] {
    auto device = make_cuda_device(0);
    device->enter_thread();
    return device.release();
  }();
  // Without tf32, whose 10 bits would need tolerances that hide errors.
  static const KernelRegistry& kernels = *new KernelRegistry(cuda::make_kernel_registry(0, {.tf32 = false}));
  static const KernelRegistry& registry = *new KernelRegistry(on_device(kernels, gpu));
  return registry;
}

}  // namespace mirrortrain::testing
