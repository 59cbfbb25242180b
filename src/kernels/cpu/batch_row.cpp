#include "graph/ops/batch_row.h"

#include "kernels/cpu/loops.h"
#include "kernels/cpu/registry.h"

namespace mirrortrain::cpu {
namespace {

std::unique_ptr<Kernel> make_batch_row(const ops::BatchRow&, const KernelSpecs& specs) {
  const std::int64_t rows = specs.outputs[0].shape[0], columns = specs.outputs[0].shape[1];
  return loop_kernel([=](const KernelArgs& args) {
    float* const y = output<float>(args, 0);
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      y[i] = i % columns == args.step->first_row + i / columns ? 1.0f : 0.0f;
    }
  });
}

}  // namespace

void add_batch_row_kernels(KernelRegistry& registry) { registry.add<ops::BatchRow>(make_batch_row); }

}  // namespace mirrortrain::cpu
