#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "collective/communicator.h"
#include "strategy/variables/variable_policy.h"

namespace mirrortrain {

/// What the processes of a run send each other between steps, in host memory; where there is one, it sends to itself.
/// Every worker makes the same calls in the same order, and each call returns when it is done. They throw what the
/// communicator throws.
class Workers {
 public:
  /// `communicator`: among the workers, null for one; must outlive this. `replicas`: of the run.
  Workers(Communicator* communicator, int replicas) : communicator_(communicator), replicas_(replicas) {}

  /// Returns once every worker has called it.
  void barrier() const;
  /// `values`: of this process's replicas in their order, equally many of each. Returns those of all the run's replicas
  /// in their order.
  std::vector<double> gather(std::span<const double> values) const;
  /// The replicas' values, given as to `gather`, as one each: their sum or mean, added in the replicas' order, so that
  /// the bits do not depend on who has which replica. Throws Error for another aggregation, and where a replica has
  /// more values than another.
  std::vector<double> reduce(Aggregation aggregation, std::span<const double> values) const;

  /// Every worker's bytes become the chief's. `what` they are, for errors, outlives the communicator.
  void take_from_chief(std::span<std::byte> bytes, std::string_view what = "what the chief decided") const;
  /// The chief's value, on every worker.
  std::int64_t agree(std::int64_t value) const;

 private:
  Communicator* communicator_;
  int replicas_;
};

}  // namespace mirrortrain
