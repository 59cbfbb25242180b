#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "strategy/variables/distributed_variable.h"

namespace mirrortrain {

/// The policies under which copies were saved, by the variable's name.
using SavedPolicies = std::map<std::string, VariablePolicy, std::less<>>;

/// Adds every copy that can differ as replica_R/NAME; copies that are equal by definition as NAME.
void add_copies(const std::string& name, const DistributedVariable& variable, std::vector<NamedTensor>& tensors);

/// What a file holds of them.
struct SavedCopies {
  const StoredTensors& tensors;
  int replicas = 1;  ///< of the run that saved them
};

/// Puts back what add_copies saved under `policy`. Returns false where the file has no such copies; throws Error for
/// one of another shape or type, or another number of them.
bool restore_copies(const SavedCopies& saved, const std::string& name, const VariablePolicy& policy,
                    const DistributedVariable& variable);

/// The same for what compression left of a weight's gradients, which has a copy for each memory: residual_M/NAME.
void add_residuals(const std::string& name, const DistributedVariable& residual, std::vector<NamedTensor>& tensors);

/// Puts back what add_residuals saved; of another number of memories their sum, which is what counts. Returns false
/// where there is none.
bool restore_residuals(const StoredTensors& stored, const DistributedVariable& residual);

/// Whether a file holds any.
bool has_residuals(const StoredTensors& stored);

}  // namespace mirrortrain
