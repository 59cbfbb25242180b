#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ops/collective.h"
#include "strategy/reduction/gradient_reducer.h"

namespace mirrortrain {

/// The collectives over the run's replicas of a training program (graph/ops/collective.h), in one memory domain. Each
/// replica leaves its own part in a table of all replicas; every lane adds up the table in the replicas' order, so that
/// the bits depend on neither lanes nor workers.
class ReplicaSums {
 public:
  /// `replicas`: the most that a domain has. `link`: null where there is one domain. All must outlive it.
  ReplicaSums(Device& device, const StepKernels& kernels, const Graph& graph, int replicas, const DomainLink* link);

  std::size_t size() const { return sums_.size(); }
  std::int64_t count(std::size_t sum) const { return sums_[sum].count; }
  /// Whether there is more than one replica; else a sum is what the replica leaves.
  bool is_shared() const { return ranks_ * replicas_ > 1; }

  /// Where a replica of the domain leaves its own part: count(sum) numbers.
  double* own(std::size_t sum, int replica) const;

  /// The lane's replicas have left theirs, by work enqueued to its stream: `total` becomes the sum. Every lane of the
  /// domain calls it. `reducer`: of the gradients, whose operations this one comes after; null where there is none.
  void add(std::size_t sum, DomainLane& lane, GradientReducer* reducer, double* total) const;

  std::size_t bytes() const;

 private:
  struct Sum {
    std::int64_t count = 0, stride = 0;  ///< numbers of a replica, and from one replica's to the next one's
    Buffer table;                        ///< of all replicas, domain by domain; zero where a domain has fewer
    std::string name;                    ///< for errors
  };
  const StepKernels& kernels_;
  const DomainLink* link_;
  int replicas_, ranks_, rank_;
  std::vector<Sum> sums_;
};

}  // namespace mirrortrain
