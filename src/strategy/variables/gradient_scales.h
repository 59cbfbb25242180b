#pragma once

#include <cstdint>

#include "strategy/topology.h"
#include "strategy/variables/variable_policy.h"

namespace mirrortrain {

/// A replica's weight in the sum of gradients over replicas. The programs divide by the n examples of the global batch,
/// so the gradients' sum is that of the mean loss; the other aggregations use each replica's gradient of the mean over
/// its own n_r examples. A replica without examples adds nothing.
inline float gradient_scale(Aggregation aggregation, int replica, std::int64_t examples, int replicas) {
  const std::int64_t own = rows_of_replica(examples, replica, replicas).count;
  if (own == 0 || (aggregation == Aggregation::kOnlyFirstReplica && replica != 0)) return 0;
  if (aggregation == Aggregation::kMean) return 1;
  return static_cast<float>(static_cast<double>(examples) / static_cast<double>(own));
}

/// How often that sum includes the regularization's gradient: each replica's own loss includes it, and the mean over
/// all examples counts it once.
inline float regularization_times(Aggregation aggregation, std::int64_t examples, int replicas) {
  if (aggregation == Aggregation::kMean || examples == 0) return examples == 0 ? 0 : 1;
  // Larger parts go first, so replica 0 has examples if any replica has.
  if (aggregation == Aggregation::kOnlyFirstReplica) return 1;
  return static_cast<float>(examples < replicas ? examples : replicas);
}

}  // namespace mirrortrain
