#include "kernels/scalar/counts.h"

#include <algorithm>

#include "kernels/cpu/loops.h"
#include "kernels/cpu/registry.h"
#include "kernels/scalar/row.h"

namespace mirrortrain::cpu {
namespace {

std::unique_ptr<Kernel> make_bin_counts(const ops::BinCounts& op, const KernelSpecs& specs) {
  const scalar::PositionShape shape(specs.inputs[0].shape);
  return loop_kernel([=, binning = op.binning, number = specs.outputs[0].elements()](const KernelArgs& args) {
    double* counts = output<double>(args, 0);
    if (counts == nullptr) return;
    const float* y = input<float>(args, 0);
    const scalar::CountedTargets targets(args.inputs[1], shape.classes);
    std::fill(counts, counts + number, 0.0);
    const scalar::PositionMask mask(args.inputs, 2, shape);
    for (std::int64_t i = 0; i < shape.count; ++i) {
      if (!mask.counts(i)) continue;
      for (std::int64_t k = 0; k < shape.classes; ++k) {
        const std::int64_t place =
            scalar::place_of(binning, y + i * shape.classes, shape.classes, k, targets(i, k) > 0);
        if (place >= 0) counts[place] += 1;
      }
    }
  });
}

/// Each thread handles some classes, over all positions.
template <class OpType>
std::unique_ptr<Kernel> make_class_sums(const OpType& op, const KernelSpecs& specs) {
  const scalar::PositionShape shape(specs.inputs[0].shape);
  const auto terms = scalar::terms_of(op);
  constexpr int kSums = decltype(scalar::terms_of(op))::kSums;
  return loop_kernel([=, threads = specs.threads](const KernelArgs& args) {
    double* sums = output<double>(args, 0);
    if (sums == nullptr) return;
    const float* y = input<float>(args, 0);
    const scalar::CountedTargets targets(args.inputs[1], shape.classes);
    const scalar::PositionMask mask(args.inputs, 2, shape);
    parallel_for(threads, shape.classes, rows_per_thread(shape.count), [=](std::int64_t begin, std::int64_t end) {
      std::fill(sums + kSums * begin, sums + kSums * end, 0.0);
      for (std::int64_t i = 0; i < shape.count; ++i) {
        if (!mask.counts(i)) continue;
        const scalar::Largest largest = terms.find(y, targets, i);
        for (std::int64_t k = begin; k < end; ++k) {
          const scalar::ClassSums<kSums> more = terms(y, targets, i, k, largest);
          for (int t = 0; t < kSums; ++t) sums[kSums * k + t] += more.terms[t];
        }
      }
    });
  });
}

}  // namespace

void add_count_kernels(KernelRegistry& registry) {
  registry.add<ops::BinCounts>(make_bin_counts);
  registry.add<ops::ClassCounts>(make_class_sums<ops::ClassCounts>);
  registry.add<ops::SquareSums>(make_class_sums<ops::SquareSums>);
}

}  // namespace mirrortrain::cpu
