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

/// counts[row]: how many of the numbers select it.
__global__ void __launch_bounds__(kBlock)
    count_lookups(std::int64_t count, scalar::TablePart part, const float* numbers, unsigned* counts) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    if (const std::int64_t row = part.row(numbers[i]); row >= 0) atomicAdd(counts + row, 1u);
  }
}

/// ends[row]: where the row's list begins, for now. Which list is where differs from run to run, and matters to none.
__global__ void __launch_bounds__(kBlock)
    place_lists(std::int64_t rows, const unsigned* counts, unsigned* used, unsigned* ends) {
  for (std::int64_t row = grid_thread(); row < rows; row += grid_threads()) {
    if (counts[row] > 0) ends[row] = atomicAdd(used, counts[row]);
  }
}

/// Puts each lookup into its row's list, in any order; ends[row] is where the list ends then.
__global__ void __launch_bounds__(kBlock)
    fill_lists(std::int64_t count, scalar::TablePart part, const float* numbers, unsigned* ends, unsigned* lists) {
  for (std::int64_t i = grid_thread(); i < count; i += grid_threads()) {
    const std::int64_t row = part.row(numbers[i]);
    if (row >= 0) lists[atomicAdd(ends + row, 1u)] = static_cast<unsigned>(i);
  }
}

/// The lookups of each row of the table, in a kernel's parameter.
struct RowLists {
  const unsigned *counts, *ends, *lists;
};

/// A list that a block sorts; longer ones, as of padding, are searched for in all numbers.
constexpr unsigned kListed = 1024;

/// sorted: the `count` elements, which differ, in ascending order, each at the number of smaller ones.
__device__ inline void sort(const unsigned* list, unsigned count, unsigned* unsorted, unsigned* sorted) {
  for (unsigned i = threadIdx.x; i < count; i += kBlock) unsorted[i] = list[i];
  __syncthreads();
  for (unsigned i = threadIdx.x; i < count; i += kBlock) {
    unsigned smaller = 0;
    for (unsigned other = 0; other < count; ++other) smaller += unsorted[other] < unsorted[i] ? 1 : 0;
    sorted[smaller] = unsorted[i];
  }
  __syncthreads();
}

/// Adds a row's terms in the order of the numbers: the threads search these in parallel.
template <class T>
__device__ inline void add_found(std::int64_t row, std::int64_t count, const scalar::TablePart& part, int width,
                                 const float* numbers, const T* dy, float* to) {
  __shared__ bool is_row[kBlock];
  __shared__ bool any;
  for (int k = static_cast<int>(threadIdx.x); k < width; k += kBlock) to[k] = 0;
  for (std::int64_t first = 0; first < count; first += kBlock) {
    const std::int64_t own = first + threadIdx.x;
    if (threadIdx.x == 0) any = false;
    __syncthreads();
    is_row[threadIdx.x] = own < count && part.row(numbers[own]) == row;
    if (is_row[threadIdx.x]) any = true;
    __syncthreads();
    for (int k = static_cast<int>(threadIdx.x); any && k < width; k += kBlock) {
      float sum = to[k];
      for (int i = 0; i < static_cast<int>(kBlock); ++i) {
        if (is_row[i]) sum += static_cast<float>(dy[(first + i) * width + k]);
      }
      to[k] = sum;
    }
    __syncthreads();
  }
}

/// A block processes a row of the table at a time, and adds its terms in the order of the numbers.
template <int kPack, class T>
__global__ void __launch_bounds__(kBlock)
    embedding_gradient(std::int64_t count, scalar::TablePart part, int width, const float* numbers, const T* dy,
                       RowLists rows, float* gradient) {
  __shared__ unsigned unsorted[kListed], sorted[kListed];
  for (std::int64_t row = blockIdx.x; row < part.rows; row += gridDim.x) {
    float* const to = gradient + row * width;
    const unsigned terms = rows.counts[row];
    if (terms > kListed) {
      add_found(row, count, part, width, numbers, dy, to);
      continue;
    }
    if (terms > 0) sort(rows.lists + (rows.ends[row] - terms), terms, unsorted, sorted);
    for (int k = static_cast<int>(threadIdx.x) * kPack; k < width; k += kBlock * kPack) {
      float sum[kPack] = {}, value[kPack];
      for (unsigned term = 0; term < terms; ++term) {
        load(value, dy + static_cast<std::int64_t>(sorted[term]) * width + k, kPack, true);
#pragma unroll
        for (int i = 0; i < kPack; ++i) sum[i] += value[i];
      }
      store(to + k, sum, kPack, true);
    }
    if (terms > 0) __syncthreads();  // before the next row's list replaces this one
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
      const float* const numbers = input<float>(args, 0);
      const T* const dy = input<T>(args, 1);
      float* const gradient = output<float>(args, 0);
      auto* const counts = reinterpret_cast<unsigned*>(args.workspace);
      unsigned *const used = counts + rows, *const ends = used + 1, *const lists = ends + rows;
      stream.zero(args.workspace, static_cast<std::size_t>(rows + 1) * sizeof(unsigned));
      launch(stream, blocks_for(count), kBlock, 0, count_lookups, count, part, numbers, counts);
      launch(stream, blocks_for(rows), kBlock, 0, place_lists, rows, counts, used, ends);
      launch(stream, blocks_for(count), kBlock, 0, fill_lists, count, part, numbers, ends, lists);
      with_pack<T>(width % kPackOf<T> == 0 && in_packs(dy, gradient), [&](auto pack) {
        launch(stream, blocks_for(rows, 1), kBlock, 0, embedding_gradient<pack.value, T>, count, part,
               static_cast<int>(width), numbers, dy, RowLists{counts, ends, lists}, gradient);
      });
    };
    return stream_kernel(body, static_cast<std::size_t>(2 * rows + 1 + count) * sizeof(unsigned));
  });
}

}  // namespace

void add_embedding_kernels(KernelRegistry& registry) {
  registry.add<ops::Embedding>(make_embedding);
  registry.add<ops::EmbeddingGradient>(make_embedding_gradient);
}

}  // namespace mirrortrain::cuda
