#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "collective/communicator.h"

namespace mirrortrain {

/// Communication of the run's processes between steps, in host memory; a single process communicates with itself. Every
/// worker makes the same calls in the same order, and each call returns when it is done. They throw the communicator's
/// exceptions.
class Workers {
 public:
  /// `communicator`: among the workers, null for one; must outlive this.
  explicit Workers(Communicator* communicator) : communicator_(communicator) {}

  /// Returns once every worker has called it.
  void barrier() const;
  /// `values`: of this process's replicas in their order, equally many of each. Returns the values of all the run's
  /// replicas in their order.
  std::vector<double> gather(std::span<const double> values) const;
  /// The sums of every worker's values, equally many of each, added in the workers' order.
  std::vector<double> sum(std::span<const double> values) const;

  /// Broadcasts the chief's bytes to every worker. `what`: a description for errors; must outlive the communicator.
  void take_from_chief(std::span<std::byte> bytes, std::string_view what = "what the chief decided") const;
  /// Returns the chief's value, on every worker.
  std::int64_t agree(std::int64_t value) const;

 private:
  Communicator* communicator_;
};

}  // namespace mirrortrain
