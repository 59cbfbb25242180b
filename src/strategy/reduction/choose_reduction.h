#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "collective/staged_reduction.h"
#include "graph/aggregation_method.h"
#include "model/model.h"
#include "strategy/reduction/deferred_gradients.h"
#include "strategy/strategy_options.h"
#include "strategy/topology.h"
#include "strategy/variables/variable_policy.h"

namespace mirrortrain {

/// How the gradients of a run are summed across its replicas.
struct ReductionChoice {
  enum class Body : std::uint8_t {
    kInUpdate,    ///< by the update, in its own pass
    kOnePass,     ///< within a domain, by a separate pass
    kStaged,      ///< within a domain, by an operation's stages
    kCollective,  ///< in one pass within each domain, then by the communicator across them
    kGathered,    ///< across domains that cannot reach each other's memory, in the order of an operation's stages
  };
  Body body = Body::kInUpdate;
  /// The operation that `cross_device_ops` names or auto selected; absent if the update adds. Never auto.
  std::optional<CrossDeviceOps> operation;
  /// Its stages: over a domain's replicas if there is one domain, over the run's replicas if they are gathered
  /// (reduction_to_one_device across workers), over the domains if devices copy from each other. Absent with nccl, and
  /// if the workers' communicator adds.
  std::optional<StagedReduction> stages;
  /// The same over the memories of a row, whose replica's places exchange along the axis `model`; absent where all
  /// places of a replica share a memory, with nccl, and across workers.
  std::optional<StagedReduction> stages_in_row;
  bool compresses = false;  ///< gradients are sent between memories as bfloat16
  bool shards = false;      ///< the optimizer's state is divided among the memories
  std::string note;         ///< the choice and its reason, for the log

  bool adds_before_update() const { return body != Body::kInUpdate; }
  /// Whether each memory adds only what it updates.
  bool scatters() const { return shards && body == Body::kCollective; }
};

/// How the gradients of a run are summed over the memories that have the same parts of the layers. Follows
/// `cross_device_ops`; auto decides only by the topology, never by timing in the run, so that the same run
/// gives the same bits. In one memory without gradients to add there is nothing to choose. `why_no_nccl`: called only
/// across GPUs; returns a sentence, or nothing if NCCL can be used. Throws UsageError if reduce_to_device is not among
/// the devices.
ReductionChoice choose_reduction(const StrategyOptions& options, const Topology& topology, AggregationMethod method,
                                 std::uint64_t gradient_bytes, const std::function<std::string()>& why_no_nccl);

/// Bytes of a replica's gradients that are added across replicas: those of `sparse` as rows, of a global batch of
/// `examples`. `policies`: of the model's variables.
std::uint64_t reduced_gradient_bytes(const Model& model, const std::vector<VariablePolicy>& policies,
                                     const std::vector<SparseGradient>& sparse, std::int64_t examples);

}  // namespace mirrortrain
