#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/scalar/combine.h"

namespace mirrortrain::cuda {
namespace {

using scalar::SumWalk;

/// A block of warps. blockIdx.x gives its outputs, blockIdx.y the part of the terms.
constexpr unsigned kStrands = kBlock / kWarpSize;
const dim3 kWarps{kWarpSize, kStrands};

/// How terms become one: what there is without any, and with another one. Sums are in double.
struct Add {
  using Value = double;
  __device__ static double none() { return 0; }
  __device__ double operator()(double a, double b) const { return a + b; }
};
struct Largest {
  using Value = float;
  __device__ static float none() { return -INFINITY; }
  __device__ float operator()(float a, float b) const { return scalar::Maximum()(a, b); }
};

/// Where reductions go: partial[part][output] or, if there is one part, to[output].
template <class Result>
struct Reductions {
  std::int64_t outputs;
  double* partial;
  Result* to;

  __device__ void put(std::int64_t output, double reduced) const {
    if (to != nullptr) {
      to[output] = Result(static_cast<float>(reduced));
    } else {
      partial[blockIdx.y * outputs + output] = reduced;
    }
  }
};

/// A block has 32 adjacent packs of outputs and kStrands strands of their terms. `walk`: with `kept` in packs.
template <class Join, int kPack, class T, class Result>
__global__ void __launch_bounds__(kBlock) reduce_to_packs(SumWalk walk, const T* x, Reductions<Result> reductions) {
  using Value = typename Join::Value;
  __shared__ Value of_strand[kStrands][kPack][kWarpSize];
  const Join join;
  const std::int64_t packs = walk.kept.count, terms = walk.reduced.count;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * kStrands;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kWarpSize; first < packs;
       first += static_cast<std::int64_t>(gridDim.x) * kWarpSize) {
    const std::int64_t pack = first + threadIdx.x;
    Value reduced[kPack];
#pragma unroll
    for (Value& one : reduced) one = Join::none();
    if (pack < packs) {
      const T* from = x + walk.kept.place(pack).at[0];
      for (std::int64_t term = blockIdx.y * kStrands + threadIdx.y; term < terms; term += step) {
        float value[kPack];
        load(value, from + walk.reduced.place(term).at[0], kPack, true);
#pragma unroll
        for (int i = 0; i < kPack; ++i) reduced[i] = join(reduced[i], static_cast<Value>(value[i]));
      }
    }
#pragma unroll
    for (int i = 0; i < kPack; ++i) of_strand[threadIdx.y][i][threadIdx.x] = reduced[i];
    __syncthreads();
    // Each strand of threads joins some of the packs' elements.
    for (unsigned i = threadIdx.y; i < kPack && pack < packs; i += kStrands) {
      Value all = of_strand[0][i][threadIdx.x];
      for (unsigned strand = 1; strand < kStrands; ++strand) all = join(all, of_strand[strand][i][threadIdx.x]);
      reductions.put(pack * kPack + i, static_cast<double>(all));
    }
    __syncthreads();
  }
}

/// A warp has an output, and reads neighbouring packs of its terms. `walk`: with `reduced` in packs.
template <class Join, int kPack, class T, class Result>
__global__ void __launch_bounds__(kBlock) reduce_packs(SumWalk walk, const T* x, Reductions<Result> reductions) {
  using Value = typename Join::Value;
  const Join join;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.y) * kWarpSize;
  for (std::int64_t output = blockIdx.x * kStrands + threadIdx.y; output < walk.kept.count;
       output += static_cast<std::int64_t>(gridDim.x) * kStrands) {
    const T* from = x + walk.kept.place(output).at[0];
    Value reduced = Join::none();
    for (std::int64_t pack = blockIdx.y * kWarpSize + threadIdx.x; pack < walk.reduced.count; pack += step) {
      float value[kPack];
      load(value, from + walk.reduced.place(pack).at[0], kPack, true);
#pragma unroll
      for (int i = 0; i < kPack; ++i) reduced = join(reduced, static_cast<Value>(value[i]));
    }
    reduced = warp_reduce(reduced, join);
    if (threadIdx.x == 0) reductions.put(output, static_cast<double>(reduced));
  }
}

template <class Join, class Result>
__global__ void __launch_bounds__(kBlock)
    join_parts(std::int64_t outputs, std::int64_t parts, const double* partial, Result* to) {
  for (std::int64_t output = grid_thread(); output < outputs; output += grid_threads()) {
    typename Join::Value reduced = Join::none();
    for (std::int64_t part = 0; part < parts; ++part) {
      reduced = Join()(reduced, static_cast<typename Join::Value>(partial[part * outputs + output]));
    }
    to[output] = Result(static_cast<float>(reduced));
  }
}

std::int64_t quotient_up(std::int64_t number, std::int64_t by) { return (number + by - 1) / by; }

/// Whether all offsets are multiples of a pack.
bool starts_in_packs(const scalar::Walk<1>& walk, std::int64_t pack) {
  for (int axis = 0; axis < walk.axes; ++axis) {
    if (walk.extent[axis] > 1 && walk.stride[axis][0] % pack != 0) return false;
  }
  return true;
}

/// How a reduction is read, and divided among blocks.
struct ReductionPlan {
  SumWalk walk;   ///< `reduced` in packs where they are of terms, else `kept`
  bool of_terms;  ///< whether a warp reads an output's neighbouring terms, or threads have neighbouring outputs
  bool is_packed = false;  ///< else packs are single elements
  std::int64_t across, parts;

  /// In packs of `pack` elements where memory is in such, else one by one.
  ReductionPlan(const SumWalk& all, std::int64_t pack) : walk(all) {
    constexpr std::int64_t kManyTerms = 64;  // from where a warp has enough to read
    const scalar::Walk<1>& reduced = all.reduced;
    of_terms = reduced.stride[reduced.axes - 1][0] == 1 && reduced.count >= kManyTerms;
    scalar::Walk<1>& packed = of_terms ? walk.reduced : walk.kept;
    if (const auto packs = packed.in_packs(pack);
        pack > 1 && packs.axes > 0 && starts_in_packs(of_terms ? walk.kept : walk.reduced, pack)) {
      packed = packs;
      is_packed = true;
    }
    across = of_terms ? quotient_up(walk.kept.count, kStrands) : quotient_up(walk.kept.count, kWarpSize);
    // Enough to fill a GPU, but no more than leave each thread some terms.
    constexpr std::int64_t kEnoughBlocks = 1024, kFewTerms = 8;
    const std::int64_t useful = walk.reduced.count / ((of_terms ? kWarpSize : kStrands) * kFewTerms);
    parts = std::clamp<std::int64_t>(std::min(useful, kEnoughBlocks / std::max<std::int64_t>(1, across)), 1, 256);
  }

  template <class Join, class T, class Result>
  void launch_parts(Stream& stream, const T* x, const Reductions<Result>& reductions) const {
    const auto launch_packs = [&]<int kPack>(std::integral_constant<int, kPack>) {
      launch(stream, dim3(blocks_for(across, 1), static_cast<unsigned>(parts)), kWarps, 0,
             of_terms ? reduce_packs<Join, kPack, T, Result> : reduce_to_packs<Join, kPack, T, Result>, walk, x,
             reductions);
    };
    with_pack<T>(is_packed, launch_packs);
  }
};

template <class Join, class T, class Result>
std::unique_ptr<Kernel> make_reduction(const SumWalk& walk) {
  const std::int64_t outputs = walk.kept.count;
  const ReductionPlan in_elements(walk, 1), packed(walk, kPackOf<T>);
  const auto body = [=](Stream& stream, const KernelArgs& args) {
    const T* const x = input<T>(args, 0);
    Result* const to = output<Result>(args, 0);
    auto* const partial = reinterpret_cast<double*>(args.workspace);
    const ReductionPlan& plan = in_packs(x) ? packed : in_elements;
    plan.template launch_parts<Join>(stream, x, Reductions<Result>{outputs, partial, plan.parts == 1 ? to : nullptr});
    if (plan.parts > 1)
      launch(stream, blocks_for(outputs), kBlock, 0, join_parts<Join, Result>, outputs, plan.parts, partial, to);
  };
  return stream_kernel(body,
                       static_cast<std::size_t>(outputs * std::max(in_elements.parts, packed.parts)) * sizeof(double));
}

std::unique_ptr<Kernel> make_sum_to(const ops::SumTo& op, const KernelSpecs& specs) {
  const SumWalk walk(specs.inputs[0].shape, specs.outputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) {
    return op.per_row ? make_reduction<Add, T, T>(walk) : make_reduction<Add, T, float>(walk);
  });
}

std::unique_ptr<Kernel> make_max_to(const ops::MaxTo& op, const KernelSpecs& specs) {
  const SumWalk walk(specs.inputs[0].shape, specs.outputs[0].shape);
  return for_float_type(op, specs.inputs[0].dtype, [&]<class T>(T) { return make_reduction<Largest, T, T>(walk); });
}

}  // namespace

void add_sum_to_kernels(KernelRegistry& registry) {
  registry.add<ops::SumTo>(make_sum_to);
  registry.add<ops::MaxTo>(make_max_to);
}

}  // namespace mirrortrain::cuda
