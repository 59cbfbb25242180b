#pragma once

#include <vector>

#include "device/device.h"
#include "report/event.h"
#include "strategy/variables/distributed_variable.h"
#include "strategy/variables/state_options.h"

namespace mirrortrain {

/// The variables of the section `state`: the copies of all the run's replicas, in host memory. The configuration
/// determines what each replica writes, so every worker keeps all copies without communication.
class StateVariables {
 public:
  /// Every copy starts at its initial value. `one_plain_copy`: as with one_device.
  StateVariables(const State& options, int replicas, bool one_plain_copy, Device& device);

  const std::vector<DistributedVariable>& variables() const { return variables_; }
  /// Applies all replicas' writes of a training step.
  void write_step() const;
  /// Values and copies, for reporting.
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
