#include "graph/ops/batch_row.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/stream_kernel.h"

namespace mirrortrain::cuda {
namespace {

__global__ void __launch_bounds__(kBlock)
    batch_row(std::int64_t rows, std::int64_t columns, const StepParams* step, float* y) {
  for (std::int64_t i = grid_thread(); i < rows * columns; i += grid_threads()) {
    y[i] = i % columns == step->first_row + i / columns ? 1.0f : 0.0f;
  }
}

std::unique_ptr<Kernel> make_batch_row(const ops::BatchRow&, const KernelSpecs& specs) {
  const std::int64_t rows = specs.outputs[0].shape[0], columns = specs.outputs[0].shape[1];
  return stream_kernel([=](Stream& stream, const KernelArgs& args) {
    launch(stream, blocks_for(rows * columns), kBlock, 0, batch_row, rows, columns, args.step, output<float>(args, 0));
  });
}

}  // namespace

void add_batch_row_kernels(KernelRegistry& registry) { registry.add<ops::BatchRow>(make_batch_row); }

}  // namespace mirrortrain::cuda
