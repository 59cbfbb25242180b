#pragma once

#include <cstdint>
#include <vector>

#include "graph/ops/collective.h"
#include "strategy/reduction/gathered_rows.h"
#include "strategy/reduction/gradient_reducer.h"

namespace mirrortrain {

/// The collectives over the run's replicas of a training program (graph/ops/collective.h), in one memory domain. Each
/// replica writes its part to a row; every lane sums the rows.
class ReplicaSums {
 public:
  /// `replicas`: the maximum of a domain. `others`: the domain's rank; null if there is only one. All must outlive it.
  ReplicaSums(Device& device, const StepKernels& kernels, const Graph& graph, int replicas, Communicator* others);

  std::size_t size() const { return sums_.size(); }
  std::int64_t count(std::size_t sum) const { return sums_[sum].count(); }
  /// Whether there is more than one replica; otherwise a sum is the replica's part.
  bool is_shared() const { return !sums_.empty() && sums_.front().rows() > 1; }

  /// Where a replica of the domain writes its part: count(sum) numbers.
  double* own(std::size_t sum, int replica) const { return sums_[sum].own(replica); }

  /// Sets `total` to the sum, after the lane's replicas have written their parts by work enqueued to its stream. Called
  /// by every lane of the domain. `reducer`: of the gradients, whose operations must come before this one; null if
  /// there is none.
  void add(std::size_t sum, DomainLane& lane, GradientReducer* reducer, double* total) const;

  std::size_t bytes() const;

 private:
  const StepKernels& kernels_;
  const bool is_alone_;  ///< there is only one domain
  std::vector<GatheredRows<double>> sums_;
};

}  // namespace mirrortrain
