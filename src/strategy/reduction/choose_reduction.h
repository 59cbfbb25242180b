#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collective/staged_reduction.h"
#include "graph/aggregation_method.h"
#include "model/model.h"
#include "strategy/strategy_options.h"
#include "strategy/topology.h"
#include "strategy/variables/variable_policy.h"

namespace mirrortrain {

/// How the gradients of a run are added across its replicas.
struct ReductionChoice {
  /// Absent: the update adds the replicas' gradients in its own pass. Never auto.
  std::optional<CrossDeviceOps> operation;
  /// Its stages: over a domain's replicas where there is one domain, over the run's replicas where they are gathered
  /// (reduction_to_one_device across workers), over the domains where devices copy from each other. Absent with nccl,
  /// and where the workers' communicator adds.
  std::optional<StagedReduction> stages;
  bool gathers_replicas = false;  ///< from domains that do not reach each other's memory
  std::string note;               ///< what was chosen and why, for the log
};

/// Follows `cross_device_ops`; auto chooses by the topology alone, never by timing in the run, so that the same run
/// gives the same bits. In one memory without gradients to add there is nothing to choose. `why_no_nccl`: asked across
/// GPUs alone; a sentence, or nothing where NCCL can be used. Throws UsageError where reduce_to_device is not among the
/// devices.
ReductionChoice choose_reduction(const StrategyOptions& options, const Topology& topology, AggregationMethod method,
                                 std::uint64_t gradient_bytes, const std::function<std::string()>& why_no_nccl);

/// Bytes of a replica's gradients that are added across replicas. `policies`: of the model's variables.
std::uint64_t reduced_gradient_bytes(const Model& model, const std::vector<VariablePolicy>& policies);

}  // namespace mirrortrain
