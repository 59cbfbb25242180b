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
  enum class Body : std::uint8_t {
    kInUpdate,    ///< by the update, in its own pass
    kOnePass,     ///< within a domain, by that pass on its own
    kStaged,      ///< within a domain, by an operation's stages
    kCollective,  ///< in one pass within each domain, then by the communicator across them
    kGathered,    ///< across domains that do not reach each other's memory, in the order of an operation's stages
  };
  Body body = Body::kInUpdate;
  /// What `cross_device_ops` names or auto selected; absent where the update adds. Never auto.
  std::optional<CrossDeviceOps> operation;
  /// Its stages: over a domain's replicas where there is one domain, over the run's replicas where they are gathered
  /// (reduction_to_one_device across workers), over the domains where devices copy from each other. Absent with nccl,
  /// and where the workers' communicator adds.
  std::optional<StagedReduction> stages;
  bool compresses = false;  ///< gradients go between memories as bfloat16
  std::string note;         ///< what was chosen and why, for the log

  bool adds_before_update() const { return body != Body::kInUpdate; }
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
