// Writes the values that the model's layers assign in a step, after all variables were read for the last time: each
// replica's own copy, or the replicas' values aggregated.
#include <algorithm>

#include "strategy/steps/lane_steps.h"

namespace mirrortrain {

/// A replica without examples keeps the statistics of its own examples.
bool LaneSteps::assigns(const Step& step, const Replica& replica, std::size_t assignment) const {
  return rows_of(step, replica).count > 0 || lane_.programs().is_assigned_without_rows(assignment);
}

void LaneSteps::write_assigned(const Step& step) {
  const std::vector<Assignment>& assignments = model().training.assignments;
  for (std::size_t i = 0; i < assignments.size(); ++i) {
    const DistributedVariable& variable = domain_.variables.variables()[assignments[i].variable];
    if (!variable.policy().copies_can_differ()) {
      if (own_.is_first()) write_shared(step, variable, i);
      continue;
    }
    for (const Replica& replica : lane_.replicas()) {
      if (!assigns(step, replica, i)) continue;
      const float* const assigned = reduction_.assigned->own(i, replica.in_domain);
      stream().copy(variable.data(replica.in_domain), reinterpret_cast<const std::byte*>(assigned), variable.bytes());
    }
  }
}

/// A replica without examples writes the variable's current value.
void LaneSteps::write_shared(const Step& step, const DistributedVariable& variable, std::size_t assignment) {
  for (const auto& [lane, replica] : domain_replicas_) {
    if (assigns(step, *replica, assignment)) continue;
    float* const assigned = reduction_.assigned->own(assignment, replica->in_domain);
    stream().copy(reinterpret_cast<std::byte*>(assigned), variable.data(replica->in_domain), variable.bytes());
  }
  reduction_.assigned->gather(stream(), assignment);
  if (reduction_.along_data) wait_while_warming_up(step);
  for (const LaneReplica& one : domain_replicas_) {
    std::byte* const copy = variable.data(one.replica->in_domain);
    const auto first = std::ranges::find_if(
        domain_replicas_, [&](const LaneReplica& other) { return variable.data(other.replica->in_domain) == copy; });
    if (first->replica != one.replica) continue;
    reduction_.assigned->write(stream(), assignment, variable.policy().aggregation, one.replica->model,
                               reinterpret_cast<float*>(copy));
  }
}

}  // namespace mirrortrain
