#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "collective/communicator.h"
#include "strategy/variables/variable_policy.h"

namespace mirrortrain {

/// Communication of the run's processes between steps, in host memory; a single process communicates with itself. Every
/// worker makes the same calls in the same order, and each call returns when it is done. They throw the communicator's
/// exceptions.
class Workers {
 public:
  /// `communicator`: among the workers, null for one; must outlive this. `replicas`: of the run.
  Workers(Communicator* communicator, int replicas) : communicator_(communicator), replicas_(replicas) {}

  /// Returns once every worker has called it.
  void barrier() const;
  /// `values`: of this process's replicas in their order, equally many of each. Returns the values of all the run's
  /// replicas in their order.
  std::vector<double> gather(std::span<const double> values) const;
  /// Aggregates the replicas' values, given as to `gather`, to one replica's: their sum or mean, added in the replicas'
  /// order, so that the bits do not depend on the placement of replicas. Throws Error for another aggregation, and if
  /// replicas have different numbers of values.
  std::vector<double> reduce(Aggregation aggregation, std::span<const double> values) const;

  /// Broadcasts the chief's bytes to every worker. `what`: a description for errors; must outlive the communicator.
  void take_from_chief(std::span<std::byte> bytes, std::string_view what = "what the chief decided") const;
  /// Returns the chief's value, on every worker.
  std::int64_t agree(std::int64_t value) const;

 private:
  Communicator* communicator_;
  int replicas_;
};

}  // namespace mirrortrain
