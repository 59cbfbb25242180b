#pragma once

#include <vector>

#include "device/device.h"
#include "report/event.h"
#include "strategy/variables/distributed_variable.h"
#include "strategy/variables/state_options.h"
#include "strategy/variables/variable_write.h"

namespace mirrortrain {

/// The variables of the section `state`, on one memory.
class StateVariables {
 public:
  /// Every copy starts at its initial value. `one_plain_copy`: as one_device keeps it.
  StateVariables(const State& options, int replicas, bool one_plain_copy, Device& device);

  const std::vector<DistributedVariable>& variables() const { return variables_; }
  /// What the replicas write in each training step.
  const std::vector<VariableWrite>& writes() const { return writes_; }
  /// Values and copies, for events.
  std::vector<report::StateReading> readings() const;

 private:
  std::vector<Buffer> buffers_;
  std::vector<DistributedVariable> variables_;
  std::vector<VariableWrite> writes_;
};

}  // namespace mirrortrain
