#include <cstdlib>

#include "device/cuda/cuda_device.h"
#include "kernels/cuda/backend.h"
#include "kernels/harness.h"
#include "kernels/on_device.h"
#include "kernels_cuda/under_test.h"

namespace mirrortrain::testing {

namespace {

// Never destroyed, as nothing of this file: as the program ends, parts of cuDNN that were loaded later are gone before
// what is made here.
Device& gpu() {
  static Device& device = *make_cuda_device(0).release();
  device.enter_thread();
  return device;
}

}  // namespace

void in_each_geometry(const std::function<void(std::int64_t)>& body) { body(0); }

Stream& stream_under_test() {
  static Stream& stream = *gpu().make_stream().release();
  gpu();  // for this thread, which may have left for another one
  return stream;
}

bool has_threads() { return false; }

/// Of dense's gradients cuBLASLt makes the bias's with the kernel's, in sums of its own order; where one is not wanted
/// the other is a plain product, or sums of columns.
double null_output_tolerance() { return 5e-6; }

const KernelRegistry& registry_under_test() {
  // Without tf32, whose 10 bits would need tolerances that hide errors. Algorithms are chosen in one way per run of the
  // program: by the heuristics, or by measuring.
  static const cuda::MathOptions options{.tf32 = false,
                                         .autotune = std::getenv("MIRRORTRAIN_TEST_AUTOTUNE") != nullptr};
  static const KernelRegistry& kernels = *new KernelRegistry(cuda::make_kernel_registry(0, options));
  static const KernelRegistry& registry = *new KernelRegistry(on_device(kernels, gpu()));
  return registry;
}

KernelRegistry for_host_memory(const KernelRegistry& kernels) { return on_device(kernels, gpu()); }

const KernelRegistry& tf32_registry_under_test() {
  static const KernelRegistry& kernels = *new KernelRegistry(cuda::make_kernel_registry(0, {.tf32 = true}));
  static const KernelRegistry& registry = *new KernelRegistry(on_device(kernels, gpu()));
  return registry;
}

}  // namespace mirrortrain::testing
