#include <cstring>

#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/scalar/counts.h"
#include "kernels/scalar/row.h"

namespace mirrortrain::cuda {
namespace {

/// An integer count of elements, stored where the output has it as a double afterwards.
using Count = unsigned long long;
static_assert(sizeof(Count) == sizeof(double));

/// Integers may be added in any order, so the counts are bitwise reproducible.
__global__ void __launch_bounds__(kBlock)
    count_bins(std::int64_t elements, const float* y, scalar::CountedTargets targets, scalar::PositionMask mask,
               ops::Binning binning, Count* counts) {
  for (std::int64_t i = grid_thread(); i < elements; i += grid_threads()) {
    const Division place = divide(i, targets.count);
    if (!mask.counts(place.quotient)) continue;
    const bool is_positive = targets(place.quotient, place.rest) > 0;
    const std::int64_t bin =
        scalar::place_of(binning, y + place.quotient * targets.count, targets.count, place.rest, is_positive);
    if (bin >= 0) atomicAdd(counts + bin, 1);
  }
}

__global__ void __launch_bounds__(kBlock) convert_counts(std::int64_t number, double* counts) {
  for (std::int64_t i = grid_thread(); i < number; i += grid_threads()) {
    Count count;
    memcpy(&count, counts + i, sizeof count);
    counts[i] = static_cast<double>(count);
  }
}

template <class Terms>
__global__ void __launch_bounds__(kBlock) find_largest(std::int64_t positions, Terms terms, const float* y,
                                                       scalar::CountedTargets targets, scalar::Largest* largest) {
  for (std::int64_t i = grid_thread(); i < positions; i += grid_threads()) largest[i] = terms.find(y, targets, i);
}

/// A block processes a class at a time over all positions, in a fixed order: bitwise reproducible.
template <class Terms>
__global__ void __launch_bounds__(kBlock)
    sum_classes(std::int64_t positions, Terms terms, const float* y, scalar::CountedTargets targets,
                scalar::PositionMask mask, const scalar::Largest* largest, double* sums) {
  for (std::int64_t k = blockIdx.x; k < targets.count; k += gridDim.x) {
    double own[Terms::kSums] = {};
    for (std::int64_t i = threadIdx.x; i < positions; i += blockDim.x) {
      if (!mask.counts(i)) continue;
      const auto more = terms(y, targets, i, k, Terms::kNeedsLargest ? largest[i] : scalar::Largest{});
      for (int t = 0; t < Terms::kSums; ++t) own[t] += more.terms[t];
    }
    for (int t = 0; t < Terms::kSums; ++t) {
      const double sum = block_sum(own[t]);
      if (threadIdx.x == 0) sums[Terms::kSums * k + t] = sum;
    }
  }
}

std::unique_ptr<Kernel> make_bin_counts(const ops::BinCounts& op, const KernelSpecs& specs) {
  const scalar::PositionShape shape(specs.inputs[0].shape);
  return stream_kernel(
      [=, binning = op.binning, number = specs.outputs[0].elements()](Stream& stream, const KernelArgs& args) {
        double* counts = output<double>(args, 0);
        if (counts == nullptr) return;
        stream.zero(args.outputs[0].data, args.outputs[0].bytes());
        if (shape.count == 0) return;
        const std::int64_t elements = shape.count * shape.classes;
        launch(stream, blocks_for(elements), kBlock, 0, count_bins, elements, input<float>(args, 0),
               scalar::CountedTargets(args.inputs[1], shape.classes), scalar::PositionMask(args.inputs, 2, shape),
               binning, reinterpret_cast<Count*>(counts));
        launch(stream, blocks_for(number), kBlock, 0, convert_counts, number, counts);
      });
}

template <class OpType>
std::unique_ptr<Kernel> make_class_sums(const OpType& op, const KernelSpecs& specs) {
  const scalar::PositionShape shape(specs.inputs[0].shape);
  const auto terms = scalar::terms_of(op);
  using Terms = std::decay_t<decltype(terms)>;
  const std::size_t workspace =
      Terms::kNeedsLargest ? static_cast<std::size_t>(shape.count) * sizeof(scalar::Largest) : 0;
  return stream_kernel(
      [=](Stream& stream, const KernelArgs& args) {
        double* sums = output<double>(args, 0);
        if (sums == nullptr) return;
        const float* y = input<float>(args, 0);
        const scalar::CountedTargets targets(args.inputs[1], shape.classes);
        auto* const largest = reinterpret_cast<scalar::Largest*>(args.workspace);
        if (Terms::kNeedsLargest && shape.count > 0) {
          launch(stream, blocks_for(shape.count), kBlock, 0, find_largest<Terms>, shape.count, terms, y, targets,
                 largest);
        }
        launch(stream, blocks_for(shape.classes, 1), kBlock, 0, sum_classes<Terms>, shape.count, terms, y, targets,
               scalar::PositionMask(args.inputs, 2, shape), static_cast<const scalar::Largest*>(largest), sums);
      },
      workspace);
}

}  // namespace

void add_count_kernels(KernelRegistry& registry) {
  registry.add<ops::BinCounts>(make_bin_counts);
  registry.add<ops::ClassCounts>(make_class_sums<ops::ClassCounts>);
  registry.add<ops::SquareSums>(make_class_sums<ops::SquareSums>);
}

}  // namespace mirrortrain::cuda
