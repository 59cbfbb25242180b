#include "strategy/steps/host_writes.h"

#include "strategy/batch_split.h"

namespace mirrortrain {

void HostWrites::add_model(const std::vector<Assignment>& assignments, const VariableStore& variables,
                           std::span<const LaneReplica> replicas) {
  replicas_.assign(replicas.begin(), replicas.end());
  for (const Assignment& assignment : assignments) {
    writes_.insert(writes_.begin() + static_cast<std::ptrdiff_t>(of_model_++),
                   {variables.variables()[assignment.variable], WriteKind::kAssign,
                    std::vector<const std::byte*>(replicas.size())});
  }
}

void HostWrites::choose_values(std::int64_t rows) {
  for (std::size_t i = 0; i < of_model_; ++i) {
    VariableWrite& write = writes_[i];
    for (std::size_t r = 0; r < replicas_.size(); ++r) {
      const Replica& replica = *replicas_[r].replica;
      const bool runs = rows_of_replica(rows, replica.index, static_cast<int>(replicas_.size())).count > 0;
      write.values[r] = runs ? replica.assigned_values[i] : write.variable.data(replica.index);
    }
  }
}

void HostWrites::run(int lane, int lanes) const {
  for (auto i = static_cast<std::size_t>(lane); i < writes_.size(); i += static_cast<std::size_t>(lanes))
    writes_[i].run();
}

}  // namespace mirrortrain
