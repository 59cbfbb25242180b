#include <cstdlib>

#include "device/cuda/cuda_device.h"
#include "kernels/cuda/backend.h"
#include "kernels/harness.h"
#include "kernels/on_device.h"
#include "kernels_cuda/in_each_geometry.h"

namespace mirrortrain::testing {

void in_each_geometry(const std::function<void(std::int64_t)>& body) { body(0); }

const KernelRegistry& registry_under_test() {
  // Never destroyed: as the program ends, parts of cuDNN that were loaded later are gone before what is made here.
  static Device& gpu = *[] {
    auto device = make_cuda_device(0);
    device->enter_thread();
    return device.release();
  }();
  // Without tf32, whose 10 bits would need tolerances that hide errors. Algorithms are chosen in one way per run of the
  // program: by the heuristics, or by measuring.
  static const cuda::MathOptions options{.tf32 = false,
                                         .autotune = std::getenv("MIRRORTRAIN_TEST_AUTOTUNE") != nullptr};
  static const KernelRegistry& kernels = *new KernelRegistry(cuda::make_kernel_registry(0, options));
  static const KernelRegistry& registry = *new KernelRegistry(on_device(kernels, gpu));
  return registry;
}

}  // namespace mirrortrain::testing
