#include <cmath>

#include "graph/ops/embedding.h"
#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/scalar/embedding.h"

namespace mirrortrain::cuda {
namespace {

template <class T>
__global__ void __launch_bounds__(kBlock) embedding(std::int64_t elements, scalar::TablePart part, std::int64_t width,
                                                    const float* numbers, const float* table, T* y) {
  for (std::int64_t i = grid_thread(); i < elements; i += grid_threads()) {
    const Division place = divide(i, width);
    const float number = numbers[place.quotient];
    const std::int64_t row = part.row(number);
    y[i] = T(row < 0 ? part.absent(number) : table[row * width + place.rest]);
  }
}

/// Sets occurs[row] of the rows that are looked up.
__global__ void __launch_bounds__(kBlock)
    mark_rows(std::int64_t count, scalar::TablePart part, const float* numbers, std::uint8_t* occurs) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    if (const std::int64_t row = part.row(numbers[i]); row >= 0) occurs[row] = 1;
  }
}

/// A block processes a row of the table at a time. If it occurs, the threads search the numbers in parallel for it, and
/// then add in the order of the numbers.
template <class T>
__global__ void __launch_bounds__(kBlock)
    embedding_gradient(std::int64_t count, scalar::TablePart part, std::int64_t width, const float* numbers,
                       const T* dy, const std::uint8_t* occurs, float* gradient) {
  __shared__ bool is_row[kBlock];
  __shared__ bool any;
  for (std::int64_t row = blockIdx.x; row < part.rows; row += gridDim.x) {
    float* to = gradient + row * width;
    for (std::int64_t k = threadIdx.x; k < width; k += kBlock) to[k] = 0;
    if (occurs[row] == 0) continue;
    for (std::int64_t first = 0; first < count; first += kBlock) {
      const std::int64_t own = first + threadIdx.x;
      if (threadIdx.x == 0) any = false;
      __syncthreads();
      is_row[threadIdx.x] = own < count && part.row(numbers[own]) == row;
      if (is_row[threadIdx.x]) any = true;
      __syncthreads();
      for (std::int64_t k = threadIdx.x; any && k < width; k += kBlock) {
        float sum = to[k];
        for (std::int64_t i = 0; i < kBlock; ++i) {
          if (is_row[i]) sum += static_cast<float>(dy[(first + i) * width + k]);
        }
        to[k] = sum;
      }
      __syncthreads();
    }
  }
}

std::unique_ptr<Kernel> make_embedding(const ops::Embedding& op, const KernelSpecs& specs) {
  const std::int64_t elements = specs.outputs[0].elements(), rows = specs.inputs[1].shape[0],
                     width = specs.inputs[1].shape[1];
  const scalar::TablePart part{rows, op.first_row, op.all_rows > 0 ? op.all_rows : rows};
  return for_float_type(op, specs.outputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([=](Stream& stream, const KernelArgs& args) {
      launch(stream, blocks_for(elements), kBlock, 0, embedding<T>, elements, part, width, input<float>(args, 0),
             input<float>(args, 1), output<T>(args, 0));
    });
  });
}

std::unique_ptr<Kernel> make_embedding_gradient(const ops::EmbeddingGradient& op, const KernelSpecs& specs) {
  const std::int64_t count = specs.inputs[0].elements(), rows = specs.outputs[0].shape[0],
                     width = specs.outputs[0].shape[1];
  const scalar::TablePart part{rows, op.first_row, op.first_row + rows};
  return for_float_type(op, specs.inputs[1].dtype, [&]<class T>(T) {
    const auto body = [=](Stream& stream, const KernelArgs& args) {
      auto* const occurs = reinterpret_cast<std::uint8_t*>(args.workspace);
      stream.zero(args.workspace, static_cast<std::size_t>(rows));
      launch(stream, blocks_for(count), kBlock, 0, mark_rows, count, part, input<float>(args, 0), occurs);
      launch(stream, blocks_for(rows, 1), kBlock, 0, embedding_gradient<T>, count, part, width, input<float>(args, 0),
             input<T>(args, 1), occurs, output<float>(args, 0));
    };
    return stream_kernel(body, static_cast<std::size_t>(rows));
  });
}

}  // namespace

void add_embedding_kernels(KernelRegistry& registry) {
  registry.add<ops::Embedding>(make_embedding);
  registry.add<ops::EmbeddingGradient>(make_embedding_gradient);
}

}  // namespace mirrortrain::cuda
