#include "graph/ops/matmul.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/cuda/walk.h"
#include "kernels/scalar/matmul.h"

namespace mirrortrain::cuda {
namespace {

using scalar::MatrixWalk;

/// A thread per element of the output.
template <class A, class B, class T>
__global__ void __launch_bounds__(kBlock) multiply(MatrixWalk walk, const A* a, const B* b, T* y) {
  const std::int64_t of_matrix = walk.rows * walk.columns, count = walk.matrices.count * of_matrix;
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const std::int64_t row = i % of_matrix / walk.columns, column = i % walk.columns;
    const auto matrix = walk.matrices.place(i / of_matrix);
    const A* of_a = a + matrix.at[0] + row * walk.a_row;
    const B* of_b = b + matrix.at[1] + column * walk.b_column;
    float sum = 0;
    for (std::int64_t step = 0; step < walk.steps; ++step) {
      sum += static_cast<float>(of_a[step * walk.a_step]) * static_cast<float>(of_b[step * walk.b_step]);
    }
    y[i] = T(sum);
  }
}

template <class A, class B, class T>
std::unique_ptr<Kernel> make_matmul_of(const MatrixWalk& walk) {
  return stream_kernel([walk](Stream& stream, const KernelArgs& args) {
    launch(stream, blocks_for(walk.matrices.count * walk.rows * walk.columns), kBlock, 0, multiply<A, B, T>, walk,
           input<A>(args, 0), input<B>(args, 1), output<T>(args, 0));
  });
}

std::unique_ptr<Kernel> make_matmul(const ops::MatMul& op, const KernelSpecs& specs) {
  const MatrixWalk walk(op, specs.inputs[0].shape, specs.inputs[1].shape, specs.outputs[0].shape);
  if (specs.outputs[0].dtype == DType::kFloat32) return make_matmul_of<float, float, float>(walk);
  if (specs.inputs[0].dtype == DType::kFloat32) return make_matmul_of<float, bfloat16, bfloat16>(walk);
  if (specs.inputs[1].dtype == DType::kFloat32) return make_matmul_of<bfloat16, float, bfloat16>(walk);
  return make_matmul_of<bfloat16, bfloat16, bfloat16>(walk);
}

}  // namespace

void add_matmul_kernels(KernelRegistry& registry) { registry.add<ops::MatMul>(make_matmul); }

}  // namespace mirrortrain::cuda
