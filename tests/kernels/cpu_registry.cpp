#include "kernels/cpu/registry.h"
#include "kernels/harness.h"

namespace mirrortrain::testing {

const KernelRegistry& registry_under_test() { return cpu::kernel_registry(); }

}  // namespace mirrortrain::testing
