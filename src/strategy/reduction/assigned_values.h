#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/model.h"
#include "strategy/reduction/domain_link.h"
#include "strategy/reduction/gathered_rows.h"
#include "strategy/topology.h"
#include "strategy/variables/variable_policy.h"

namespace mirrortrain {

/// The values that the layers of the run's replicas assign to variables, in one memory domain: ModelGraph::assignments.
/// Each replica's program leaves its values in a row; for a variable that the replicas share, the rows are aggregated
/// into one value in every domain.
class AssignedValues {
 public:
  /// `replicas`: the maximum of places in a domain. `others`: its rank among those with the same parts of the layers;
  /// null if it is alone. Device, kernels and communicator must outlive it.
  AssignedValues(Device& device, const StepKernels& kernels, const Model& model, int replicas, const Mesh& mesh,
                 Communicator* others);

  /// Where a replica of the domain writes its assigned values.
  float* own(std::size_t assignment, int replica) const {
    return values_[assignment].row<float>(values_[assignment].own(replica));
  }

  /// Fetches the other domains' values, once the domain's replicas have written theirs. Called by its first lane, like
  /// `write`, before it.
  void gather(Stream& stream, std::size_t assignment) const { values_[assignment].gather(stream); }
  /// Sets `value` to the sum, the mean over the run's replicas, or the first replica's, of the places with this index
  /// on the axis `model`.
  void write(Stream& stream, std::size_t assignment, Aggregation aggregation, int part, float* value);

  std::size_t bytes() const;

 private:
  const StepKernels& kernels_;
  const Mesh mesh_;
  const int parts_here_;  ///< indices on the axis `model` in a memory
  std::vector<GatheredRows> values_;
  std::vector<scalar::GradientSource> sources_;  ///< of the current sum
};

}  // namespace mirrortrain
