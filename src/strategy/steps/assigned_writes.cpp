#include "strategy/steps/assigned_writes.h"

namespace mirrortrain {

/// A replica without examples keeps the statistics of its own examples.
bool AssignedWrites::assigns(const Replica& replica, std::size_t assignment) const {
  return context_.rows_of(replica).count > 0 || context_.lane.programs().is_assigned_without_rows(assignment);
}

void AssignedWrites::run() {
  const std::vector<Assignment>& assignments = context_.around.model.training.assignments;
  for (std::size_t i = 0; i < assignments.size(); ++i) {
    const DistributedVariable& variable = context_.domain.variables.variables()[assignments[i].variable];
    if (!variable.policy().copies_can_differ()) {
      if (context_.own.is_first()) write_shared(variable, i);
      continue;
    }
    for (const Replica& replica : context_.lane.replicas()) {
      if (!assigns(replica, i)) continue;
      context_.stream().copy(variable.data(replica.in_domain), replica.assigned_values[i], variable.bytes());
    }
  }
}

/// A replica without examples writes the variable's own value.
void AssignedWrites::write_shared(const DistributedVariable& variable, std::size_t assignment) {
  const std::span<float> value(reinterpret_cast<float*>(variable.data(0)),
                               static_cast<std::size_t>(variable.shape().elements()));
  values_.clear();
  for (const auto& [lane, replica] : context_.domain_replicas) {
    const auto* const assigned = reinterpret_cast<const float*>(replica->assigned_values[assignment]);
    values_.push_back(assigns(*replica, assignment) ? assigned : value.data());
  }
  context_.reduction.assigned->write(context_.stream(), variable.policy().aggregation,
                                     context_.around.topology.replicas, values_, value, variable.name());
  if (context_.exchanges()) context_.meet_while_settling();
}

}  // namespace mirrortrain
