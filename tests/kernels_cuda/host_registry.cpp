#include "kernels/cuda/custom_kernels.h"
#include "kernels/harness.h"

namespace mirrortrain::testing {

const KernelRegistry& registry_under_test() {
  static const KernelRegistry registry = [] {
    KernelRegistry own("cuda");
    cuda::add_custom_kernels(own);
    return own;
  }();
  return registry;
}

double null_output_tolerance() { return 0; }

}  // namespace mirrortrain::testing
