#pragma once

#include <cstdint>

#include "strategy/topology.h"
#include "strategy/variables/variable_policy.h"

namespace mirrortrain {

/// The weight of a replica's gradient, at each of its places, in the sum over all. The programs divide by the n
/// examples of the global batch, so the gradients' sum is that of the mean loss; the other aggregations use each
/// replica's gradient of the mean over its own n_r examples. A replica without examples adds nothing.
inline float gradient_scale(Aggregation aggregation, int place, std::int64_t examples, const Mesh& mesh) {
  const std::int64_t own = rows_of_place(examples, place, mesh).count;
  const bool is_first = mesh.data_index(place) == 0;
  if (own == 0 || (aggregation == Aggregation::kOnlyFirstReplica && !is_first)) return 0;
  if (aggregation == Aggregation::kMean) return 1;
  return static_cast<float>(static_cast<double>(examples) / static_cast<double>(own));
}

/// How often that sum includes the regularization's gradient: each replica's own loss includes it, and the mean over
/// all examples counts it once.
inline float regularization_times(Aggregation aggregation, std::int64_t examples, const Mesh& mesh) {
  if (aggregation == Aggregation::kMean || examples == 0) return examples == 0 ? 0 : 1;
  // Larger parts go first, so replica 0 has examples if any replica has.
  if (aggregation == Aggregation::kOnlyFirstReplica) return 1;
  return static_cast<float>(examples < mesh.data ? examples : mesh.data);
}

}  // namespace mirrortrain
