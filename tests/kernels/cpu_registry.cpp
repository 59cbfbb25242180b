#include "kernels/cpu/registry.h"
#include "kernels/harness.h"

namespace mirrortrain::testing {

const KernelRegistry& registry_under_test() { return cpu::kernel_registry(); }

bool has_threads() { return true; }

double null_output_tolerance() { return 0; }

}  // namespace mirrortrain::testing
