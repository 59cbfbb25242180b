#pragma once

#include <cstdint>
#include <vector>

#include "graph/ops/collective.h"
#include "strategy/reduction/gathered_rows.h"
#include "strategy/reduction/gradient_reducer.h"

namespace mirrortrain {

/// The collectives over the run's replicas of a training program (graph/ops/collective.h), in one memory domain. Each
/// replica leaves its own part in a row; every lane adds up the rows.
class ReplicaSums {
 public:
  /// `replicas`: the most that a domain has. `others`: the domain's rank; null where there is one. All must outlive it.
  ReplicaSums(Device& device, const StepKernels& kernels, const Graph& graph, int replicas, Communicator* others);

  std::size_t size() const { return sums_.size(); }
  std::int64_t count(std::size_t sum) const { return sums_[sum].count(); }
  /// Whether there is more than one replica; else a sum is what the replica leaves.
  bool is_shared() const { return !sums_.empty() && sums_.front().rows() > 1; }

  /// Where a replica of the domain leaves its own part: count(sum) numbers.
  double* own(std::size_t sum, int replica) const { return sums_[sum].own(replica); }

  /// The lane's replicas have left theirs, by work enqueued to its stream: `total` becomes the sum. Every lane of the
  /// domain calls it. `reducer`: of the gradients, whose operations this one comes after; null where there is none.
  void add(std::size_t sum, DomainLane& lane, GradientReducer* reducer, double* total) const;

  std::size_t bytes() const;

 private:
  const StepKernels& kernels_;
  const bool is_alone_;  ///< one domain
  std::vector<GatheredRows<double>> sums_;
};

}  // namespace mirrortrain
