#include "kernels/cuda/attention.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/harness.h"
#include "kernels_cuda/under_test.h"

namespace mirrortrain::testing {

const KernelRegistry& registry_under_test() {
  static const KernelRegistry registry = [] {
    KernelRegistry own("cuda");
    cuda::add_custom_kernels(own);
    return own;
  }();
  return registry;
}

const KernelRegistry& tf32_registry_under_test() {
  static const KernelRegistry registry = [] {
    KernelRegistry own = registry_under_test();
    cuda::add_tf32_attention_kernels(own);
    return own;
  }();
  return registry;
}

KernelRegistry for_host_memory(const KernelRegistry& kernels) { return kernels; }

bool has_threads() { return false; }

double null_output_tolerance() { return 0; }

}  // namespace mirrortrain::testing
