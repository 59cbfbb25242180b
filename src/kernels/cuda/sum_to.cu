#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/scalar/combine.h"

namespace mirrortrain::cuda {
namespace {

using scalar::SumWalk;

/// A block has 32 adjacent outputs and kStrands strands of their terms. blockIdx.x gives the outputs, blockIdx.y the
/// part of the terms; their sum is partial[part][output].
constexpr unsigned kStrands = kBlock / kWarpSize;

template <class T>
__global__ void __launch_bounds__(kBlock) sum_parts(SumWalk walk, const T* x, double* partial) {
  __shared__ double of_strand[kStrands][kWarpSize];
  const std::int64_t outputs = walk.kept.count, terms = walk.reduced.count;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * kStrands;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kWarpSize; first < outputs;
       first += static_cast<std::int64_t>(gridDim.x) * kWarpSize) {
    const std::int64_t output = first + threadIdx.x;
    double sum = 0;
    if (output < outputs) {
      const T* from = x + walk.kept.place(output).at[0];
      for (std::int64_t term = blockIdx.y * kStrands + threadIdx.y; term < terms; term += step) {
        sum += static_cast<double>(static_cast<float>(from[walk.reduced.place(term).at[0]]));
      }
    }
    of_strand[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && output < outputs) {
      for (unsigned strand = 1; strand < kStrands; ++strand) sum += of_strand[strand][threadIdx.x];
      partial[blockIdx.y * outputs + output] = sum;
    }
    __syncthreads();
  }
}

template <class Sum>
__global__ void __launch_bounds__(kBlock)
    add_parts(std::int64_t outputs, std::int64_t parts, const double* partial, Sum* to) {
  for (std::int64_t output = grid_thread(); output < outputs; output += grid_threads()) {
    double sum = 0;
    for (std::int64_t part = 0; part < parts; ++part) sum += partial[part * outputs + output];
    to[output] = Sum(static_cast<float>(sum));
  }
}

/// Enough to fill a GPU, but no more than leave each strand some terms.
std::int64_t parts_of(const SumWalk& walk) {
  constexpr std::int64_t kEnoughBlocks = 1024, kFewTerms = 8;
  const std::int64_t across = (walk.kept.count + kWarpSize - 1) / kWarpSize;
  const std::int64_t useful = walk.reduced.count / (kStrands * kFewTerms);
  return std::clamp<std::int64_t>(std::min(useful, kEnoughBlocks / std::max<std::int64_t>(1, across)), 1, 256);
}

template <class T, class Sum>
std::unique_ptr<Kernel> make_sum_of(const SumWalk& walk) {
  const std::int64_t outputs = walk.kept.count, parts = parts_of(walk);
  const auto body = [=](Stream& stream, const KernelArgs& args) {
    auto* partial = reinterpret_cast<double*>(args.workspace);
    launch(stream, dim3(blocks_for(outputs, kWarpSize), static_cast<unsigned>(parts)), dim3(kWarpSize, kStrands), 0,
           sum_parts<T>, walk, input<T>(args, 0), partial);
    launch(stream, blocks_for(outputs), kBlock, 0, add_parts<Sum>, outputs, parts, partial, output<Sum>(args, 0));
  };
  return stream_kernel(body, static_cast<std::size_t>(outputs * parts) * sizeof(double));
}

std::unique_ptr<Kernel> make_sum_to(const ops::SumTo& op, const KernelSpecs& specs) {
  const SumWalk walk(specs.inputs[0].shape, specs.outputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype,
                        [&]<class T>(T) { return op.per_row ? make_sum_of<T, T>(walk) : make_sum_of<T, float>(walk); });
}

/// A thread has an output.
template <class T>
__global__ void __launch_bounds__(kBlock) max_to(SumWalk walk, const T* x, T* y) {
  for (std::int64_t output = grid_thread(); output < walk.kept.count; output += grid_threads()) {
    const T* from = x + walk.kept.place(output).at[0];
    auto largest = static_cast<float>(*from);
    for (std::int64_t term = 1; term < walk.reduced.count; ++term) {
      largest = scalar::Maximum()(largest, static_cast<float>(from[walk.reduced.place(term).at[0]]));
    }
    y[output] = T(largest);
  }
}

std::unique_ptr<Kernel> make_max_to(const ops::MaxTo& op, const KernelSpecs& specs) {
  const SumWalk walk(specs.inputs[0].shape, specs.outputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return stream_kernel([walk](Stream& stream, const KernelArgs& args) {
      launch(stream, blocks_for(walk.kept.count), kBlock, 0, max_to<T>, walk, input<T>(args, 0), output<T>(args, 0));
    });
  });
}

}  // namespace

void add_sum_to_kernels(KernelRegistry& registry) {
  registry.add<ops::SumTo>(make_sum_to);
  registry.add<ops::MaxTo>(make_max_to);
}

}  // namespace mirrortrain::cuda
