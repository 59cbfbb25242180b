#include "graph/ops/constant.h"

#include <algorithm>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/registry.h"

namespace mirrortrain::cpu {
namespace {

std::unique_ptr<Kernel> make_constant(const ops::Constant& op, const KernelSpecs&) {
  return loop_kernel([values = op.values](const KernelArgs& args) {
    if (float* const y = output<float>(args, 0)) std::ranges::copy(*values, y);
  });
}

}  // namespace

void add_constant_kernels(KernelRegistry& registry) { registry.add<ops::Constant>(make_constant); }

}  // namespace mirrortrain::cpu
