#include "collective/local/reduction.h"

#include <fmt/format.h>

#include "base/error.h"
#include "collective/local/algorithms.h"

namespace mirrortrain {
namespace {

int stages_of(LocalAlgorithm algorithm, AggregationMethod method, int ranks) {
  if (ranks == 1) return 0;
  switch (algorithm) {
    case LocalAlgorithm::kOnePass: return 1;
    case LocalAlgorithm::kRing: return 2 * local::ring_steps(ranks);
    case LocalAlgorithm::kHierarchicalCopy: return local::hierarchical_copy_stages(ranks);
    case LocalAlgorithm::kReductionToOneDevice: return local::reduction_to_one_device_stages(method, ranks);
  }
  return 0;
}

}  // namespace

bool uses_aggregation_method(LocalAlgorithm algorithm) {
  return algorithm == LocalAlgorithm::kHierarchicalCopy || algorithm == LocalAlgorithm::kReductionToOneDevice;
}

LocalReduction::LocalReduction(LocalAlgorithm algorithm, int ranks, AggregationMethod method, int root)
    : algorithm_(algorithm), method_(method), ranks_(ranks), root_(root), stages_(0) {
  if (ranks < 1 || ranks > kMaxRanks) {
    throw Error(fmt::format("1 to {} ranks can sum on one memory, found {}", kMaxRanks, ranks));
  }
  if (root < 0 || root >= ranks) throw Error(fmt::format("rank {} of {} cannot be the root of a sum", root, ranks));
  stages_ = stages_of(algorithm, method, ranks);
}

void LocalReduction::run(int stage, int rank, DType dtype, std::size_t count, std::span<std::byte* const> data,
                         const StageWork& work) const {
  const local::Part part{rank, ranks_, dtype, count, data, work};
  switch (algorithm_) {
    case LocalAlgorithm::kOnePass: return local::one_pass_all_reduce(part);
    case LocalAlgorithm::kRing: {
      const int steps = local::ring_steps(ranks_);
      return stage < steps ? local::ring_reduce_scatter(part, stage) : local::ring_all_gather(part, stage - steps);
    }
    case LocalAlgorithm::kHierarchicalCopy: return local::hierarchical_copy(part, stage, method_);
    case LocalAlgorithm::kReductionToOneDevice: return local::reduction_to_one_device(part, stage, method_, root_);
  }
}

}  // namespace mirrortrain
