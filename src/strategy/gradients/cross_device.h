#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collective/local/reduction.h"
#include "graph/aggregation_method.h"
#include "model/model.h"
#include "strategy/placement.h"
#include "strategy/strategy_options.h"
#include "strategy/variables/variable_policy.h"

namespace mirrortrain {

/// How the gradients of a run are added across its replicas.
struct CrossDevice {
  std::optional<LocalReduction> reduction;  ///< absent: each lane adds what it updates, in one pass
  std::string note;                         ///< what was chosen and why, for the log
};

/// Follows `cross_device_ops`; auto chooses by devices, sizes and number of replicas alone, never by timing in the run,
/// so that the same run gives the same bits: see measured_all_reduce.h. Without gradients to add there is nothing to
/// choose. Throws UsageError where reduce_to_device is not among the devices.
CrossDevice choose_cross_device(const StrategyOptions& options, const Placement& placement, AggregationMethod method,
                                std::uint64_t gradient_bytes);

/// How several GPUs, a lane each, add with another operation than NCCL. Throws UsageError where reduce_to_device is not
/// among them.
LocalReduction reduction_across(const StrategyOptions& options, const Placement& placement, AggregationMethod method);

/// Bytes of a replica's gradients that are added across replicas. `policies`: of the model's variables.
std::uint64_t reduced_gradient_bytes(const Model& model, const std::vector<VariablePolicy>& policies);

}  // namespace mirrortrain
