#pragma once

#include <vector>

#include "device/device.h"
#include "report/event.h"
#include "strategy/variables/distributed_variable.h"
#include "strategy/variables/state_options.h"

namespace mirrortrain {

/// The variables of the section `state`: the copies of all the run's replicas, in host memory. What each replica writes
/// is known from the configuration, so every worker keeps all copies without asking the others.
class StateVariables {
 public:
  /// Every copy starts at its initial value. `one_plain_copy`: as one_device keeps it.
  StateVariables(const State& options, int replicas, bool one_plain_copy, Device& device);

  const std::vector<DistributedVariable>& variables() const { return variables_; }
  /// Writes what all replicas write in a training step.
  void write_step() const;
  /// Values and copies, for events.
  std::vector<report::StateReading> readings() const;

 private:
  struct Write {
    DistributedVariable variable;
    WriteKind kind = WriteKind::kAssign;
    std::vector<const std::byte*> values;  ///< by replica
  };
  std::vector<Buffer> buffers_;
  std::vector<DistributedVariable> variables_;
  std::vector<Write> writes_;
};

}  // namespace mirrortrain
