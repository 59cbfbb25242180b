#include "kernels/cpu/registry.h"

namespace mirrortrain::cpu {

const KernelRegistry& kernel_registry() {
  static const KernelRegistry registry = [] {
    KernelRegistry all("cpu");
#define MIRRORTRAIN_ADD(name) add_##name##_kernels(all);
    MIRRORTRAIN_CPU_KERNELS(MIRRORTRAIN_ADD)
#undef MIRRORTRAIN_ADD
    return all;
  }();
  return registry;
}

}  // namespace mirrortrain::cpu
