#pragma once

#include <vector>

#include "strategy/steps/lane.h"
#include "strategy/steps/step_results.h"
#include "strategy/variables/state_variables.h"
#include "strategy/variables/variable_write.h"

namespace mirrortrain {

/// What the replicas write to variables in host memory in each step: the model's assignments where lanes compute there,
/// and the section `state`. They run one by one, dealt to the lanes.
class HostWrites {
 public:
  /// `state` must outlive it.
  explicit HostWrites(const StateVariables& state) : writes_(state.writes()) {}

  /// Before `state`, the model's own writes to its variables. `replicas`: of the run, in their order.
  void add_model(const std::vector<Assignment>& assignments, const VariableStore& variables,
                 std::span<const LaneReplica> replicas);

  /// Which values the model's writes take when the step is over `rows` examples: a replica without examples keeps its
  /// statistics, it writes what its copy holds.
  void choose_values(std::int64_t rows);

  /// The lane's part of them, among `lanes`.
  void run(int lane, int lanes) const;

 private:
  std::vector<LaneReplica> replicas_;
  std::size_t of_model_ = 0;
  std::vector<VariableWrite> writes_;  ///< the model's, then the state's
};

}  // namespace mirrortrain
