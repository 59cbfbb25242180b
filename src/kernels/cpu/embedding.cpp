#include "graph/ops/embedding.h"

#include <algorithm>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/registry.h"
#include "kernels/scalar/embedding.h"

namespace mirrortrain::cpu {
namespace {

std::unique_ptr<Kernel> make_embedding(const ops::Embedding& op, const KernelSpecs& specs) {
  const std::int64_t count = specs.inputs[0].elements(), rows = specs.inputs[1].shape[0],
                     width = specs.inputs[1].shape[1];
  const scalar::TablePart part{rows, op.first_row, op.all_rows > 0 ? op.all_rows : rows};
  return for_float_type(op, specs.outputs[0].dtype, [&]<class T>(T) {
    return loop_kernel([=, threads = specs.threads](const KernelArgs& args) {
      const float *numbers = input<float>(args, 0), *table = input<float>(args, 1);
      T* y = output<T>(args, 0);
      parallel_for(threads, count, rows_per_thread(width), [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          const std::int64_t row = part.row(numbers[i]);
          const float absent = row < 0 ? part.absent(numbers[i]) : 0;
          for (std::int64_t k = 0; k < width; ++k) y[i * width + k] = T(row < 0 ? absent : table[row * width + k]);
        }
      });
    });
  });
}

/// Each thread handles a part of the table and searches all numbers for its rows.
std::unique_ptr<Kernel> make_embedding_gradient(const ops::EmbeddingGradient& op, const KernelSpecs& specs) {
  const std::int64_t count = specs.inputs[0].elements(), rows = specs.outputs[0].shape[0],
                     width = specs.outputs[0].shape[1];
  const scalar::TablePart part{rows, op.first_row, op.first_row + rows};
  return for_float_type(op, specs.inputs[1].dtype, [&]<class T>(T) {
    return loop_kernel([=, threads = specs.threads](const KernelArgs& args) {
      const float* numbers = input<float>(args, 0);
      const T* dy = input<T>(args, 1);
      float* gradient = output<float>(args, 0);
      parallel_for(threads, rows, rows_per_thread(width), [=](std::int64_t begin, std::int64_t end) {
        std::fill(gradient + begin * width, gradient + end * width, 0.0f);
        for (std::int64_t i = 0; i < count; ++i) {
          const std::int64_t row = part.row(numbers[i]);
          if (row < begin || row >= end) continue;
          for (std::int64_t k = 0; k < width; ++k) {
            gradient[row * width + k] += static_cast<float>(dy[i * width + k]);
          }
        }
      });
    });
  });
}

}  // namespace

void add_embedding_kernels(KernelRegistry& registry) {
  registry.add<ops::Embedding>(make_embedding);
  registry.add<ops::EmbeddingGradient>(make_embedding_gradient);
}

}  // namespace mirrortrain::cpu
