#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/model.h"
#include "strategy/reduction/domain_link.h"
#include "strategy/reduction/gathered_rows.h"
#include "strategy/variables/variable_policy.h"

namespace mirrortrain {

/// What the layers of the run's replicas assign to variables, in one memory domain: ModelGraph::assignments. Each
/// replica's program leaves its values in a row; for a variable that the replicas share, the rows become one value in
/// every domain.
class AssignedValues {
 public:
  /// `replicas`: the most that a domain has. `others`: the domain's rank; null where there is one. All must outlive it.
  AssignedValues(Device& device, const StepKernels& kernels, const Model& model, int replicas, Communicator* others);

  /// Where a replica of the domain leaves what it assigns.
  float* own(std::size_t assignment, int replica) const { return values_[assignment].own(replica); }

  /// `value` becomes the sum, the mean over `all_replicas` of the run, or the first replica's. The domain's replicas
  /// have left theirs. Called by its first lane.
  void write(Stream& stream, std::size_t assignment, Aggregation aggregation, int all_replicas, float* value);

  std::size_t bytes() const;

 private:
  const StepKernels& kernels_;
  std::vector<GatheredRows<float>> values_;
  std::vector<scalar::GradientSource> sources_;  ///< of the sum that is made
};

}  // namespace mirrortrain
