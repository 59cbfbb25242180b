#include "graph/ops/matmul.h"

#include <algorithm>

#include "kernels/cpu/registry.h"
#include "kernels/cpu/walk.h"
#include "kernels/scalar/matmul.h"

namespace mirrortrain::cpu {
namespace {

using scalar::MatrixWalk;

/// A part of one row of the output, whose sums stay in registers.
template <class A, class B, class T>
void multiply_row(const MatrixWalk& walk, const A* a, const B* b, T* to) {
  constexpr std::int64_t kPart = 64;
  for (std::int64_t column = 0; column < walk.columns; column += kPart) {
    const std::int64_t count = std::min(kPart, walk.columns - column);
    float sums[kPart] = {};
    for (std::int64_t step = 0; step < walk.steps; ++step) {
      const auto factor = static_cast<float>(a[step * walk.a_step]);
      const B* from = b + step * walk.b_step + column * walk.b_column;
      if (walk.b_column == 1) {
        for (std::int64_t i = 0; i < count; ++i) sums[i] += factor * static_cast<float>(from[i]);
      } else {
        for (std::int64_t i = 0; i < count; ++i) sums[i] += factor * static_cast<float>(from[i * walk.b_column]);
      }
    }
    for (std::int64_t i = 0; i < count; ++i) to[column + i] = T(sums[i]);
  }
}

template <class A, class B, class T>
std::unique_ptr<Kernel> make_matmul_of(const MatrixWalk& walk, int threads) {
  return loop_kernel([=](const KernelArgs& args) {
    const A* a = input<A>(args, 0);
    const B* b = input<B>(args, 1);
    T* y = output<T>(args, 0);
    const std::int64_t grain = rows_per_thread(walk.columns * walk.steps);
    parallel_for(threads, walk.matrices.count * walk.rows, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const auto matrix = walk.matrices.place(row / walk.rows);
        multiply_row(walk, a + matrix.at[0] + row % walk.rows * walk.a_row, b + matrix.at[1], y + row * walk.columns);
      }
    });
  });
}

std::unique_ptr<Kernel> make_matmul(const ops::MatMul& op, const KernelSpecs& specs) {
  const MatrixWalk walk(op, specs.inputs[0].shape, specs.inputs[1].shape, specs.outputs[0].shape);
  const auto make = [&]<class A, class B, class T>(A, B, T) { return make_matmul_of<A, B, T>(walk, specs.threads); };
  if (specs.outputs[0].dtype == DType::kFloat32) return make(float{}, float{}, float{});
  if (specs.inputs[0].dtype == DType::kFloat32) return make(float{}, bfloat16{}, bfloat16{});
  if (specs.inputs[1].dtype == DType::kFloat32) return make(bfloat16{}, float{}, bfloat16{});
  return make(bfloat16{}, bfloat16{}, bfloat16{});
}

}  // namespace

void add_matmul_kernels(KernelRegistry& registry) { registry.add<ops::MatMul>(make_matmul); }

}  // namespace mirrortrain::cpu
