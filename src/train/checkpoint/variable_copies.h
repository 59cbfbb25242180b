#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/safetensors.h"
#include "strategy/variables/distributed_variable.h"

namespace mirrortrain {

/// The policies of saved copies, by the variable's name.
using SavedPolicies = std::map<std::string, VariablePolicy, std::less<>>;

/// Adds every copy that can differ as replica_R/NAME; copies that are equal by definition as NAME.
void add_copies(const std::string& name, const DistributedVariable& variable, std::vector<NamedTensor>& tensors);

/// The copies in a file.
struct SavedCopies {
  const SafetensorsFile& tensors;
  int replicas = 1;  ///< of the run that saved them
};

/// Restores copies saved by add_copies under `policy`. Returns false if the file has no such copies; throws Error for a
/// copy of another shape or type, or another number of copies.
bool restore_copies(const SavedCopies& saved, const std::string& name, const VariablePolicy& policy,
                    const DistributedVariable& variable);

/// The same for the rounding errors of a weight's compressed gradients, which have a copy for each memory:
/// residual_M/NAME.
void add_residuals(const std::string& name, const DistributedVariable& residual, std::vector<NamedTensor>& tensors);

/// Restores copies saved by add_residuals; for another number of memories their sum, which is their value. Returns
/// false if there are none.
bool restore_residuals(const SafetensorsFile& stored, const DistributedVariable& residual);

/// Whether a file has any.
bool has_residuals(const SafetensorsFile& stored);

}  // namespace mirrortrain
