#pragma once

#include <cstddef>
#include <vector>

#include "strategy/variables/distributed_variable.h"

namespace mirrortrain {

/// What all replicas write to a variable in a step, once every read of the step is done.
struct VariableWrite {
  DistributedVariable variable;
  WriteKind kind = WriteKind::kAssign;
  std::vector<const std::byte*> values;  ///< one tensor of the variable's type per replica

  void run() const { variable.write_in_replicas(kind, values); }
};

}  // namespace mirrortrain
