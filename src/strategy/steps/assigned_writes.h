#pragma once

#include <vector>

#include "strategy/steps/lane_context.h"

namespace mirrortrain {

/// Writes what the model's layers assign in a step, once every variable was read for the last time: each replica's own
/// copy, or the replicas' values as one.
class AssignedWrites {
 public:
  explicit AssignedWrites(LaneContext& context) : context_(context) { values_.reserve(context.domain_replicas.size()); }

  void run();

 private:
  bool assigns(const Replica& replica, std::size_t assignment) const;
  void write_shared(const DistributedVariable& variable, std::size_t assignment);

  LaneContext& context_;
  std::vector<const float*> values_;  ///< by replica of the domain, of the variable that is written
};

}  // namespace mirrortrain
