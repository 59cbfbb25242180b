#include "kernels/cuda/custom_kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/pack.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/stream_kernel.h"
#include "kernels/scalar/counts.h"
#include "kernels/scalar/row.h"

// A block has a column of the counts at a time and goes over all elements: no atomic additions, so the same bits
// always.
namespace mirrortrain::cuda {
namespace {

__global__ void __launch_bounds__(kBlock)
    count_bins(std::int64_t elements, const float* y, scalar::CountedTargets targets, scalar::PositionMask mask,
               ops::Thresholds thresholds, double* counts) {
  const std::int32_t bins = thresholds.count + 1;
  for (std::int32_t bin = static_cast<std::int32_t>(blockIdx.x); bin < bins;
       bin += static_cast<std::int32_t>(gridDim.x)) {
    double negative = 0, positive = 0;
    for (std::int64_t i = threadIdx.x; i < elements; i += blockDim.x) {
      if (scalar::bin_of(y[i], thresholds) != bin) continue;
      const Division place = divide(i, targets.count);
      if (!mask.counts(place.quotient)) continue;
      (targets(place.quotient, place.rest) > 0 ? positive : negative) += 1;
    }
    negative = block_sum(negative);
    positive = block_sum(positive);
    if (threadIdx.x > 0) continue;
    counts[bin] = negative;
    counts[bins + bin] = positive;
  }
}

template <class Terms>
__global__ void __launch_bounds__(kBlock) find_largest(std::int64_t positions, Terms terms, const float* y,
                                                       scalar::CountedTargets targets, scalar::Largest* largest) {
  for (std::int64_t i = grid_thread(); i < positions; i += grid_threads()) largest[i] = terms.find(y, targets, i);
}

template <class Terms>
__global__ void __launch_bounds__(kBlock)
    sum_classes(std::int64_t positions, Terms terms, const float* y, scalar::CountedTargets targets,
                scalar::PositionMask mask, const scalar::Largest* largest, double* sums) {
  for (std::int64_t k = blockIdx.x; k < targets.count; k += gridDim.x) {
    double own[3] = {};
    for (std::int64_t i = threadIdx.x; i < positions; i += blockDim.x) {
      if (!mask.counts(i)) continue;
      const scalar::ThreeTerms three = terms(y, targets, i, k, Terms::kNeedsLargest ? largest[i] : scalar::Largest{});
      for (int t = 0; t < 3; ++t) own[t] += three.terms[t];
    }
    for (int t = 0; t < 3; ++t) {
      const double sum = block_sum(own[t]);
      if (threadIdx.x == 0) sums[3 * k + t] = sum;
    }
  }
}

std::unique_ptr<Kernel> make_bin_counts(const ops::BinCounts& op, const KernelSpecs& specs) {
  const scalar::PositionShape shape(specs.inputs[0].shape);
  return stream_kernel([=, thresholds = op.thresholds](Stream& stream, const KernelArgs& args) {
    double* counts = output<double>(args, 0);
    if (counts == nullptr) return;
    launch(stream, blocks_for(thresholds.count + 1, 1), kBlock, 0, count_bins, shape.count * shape.classes,
           input<float>(args, 0), scalar::CountedTargets(args.inputs[1], shape.classes),
           scalar::PositionMask(args.inputs, 2, shape), thresholds, counts);
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
