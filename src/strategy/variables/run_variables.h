#pragma once

#include <memory>
#include <span>
#include <vector>

#include "collective/communicator.h"
#include "kernels/backend.h"
#include "strategy/topology.h"
#include "strategy/variables/memory_domain.h"

namespace mirrortrain {

/// The variables of a run: in the memory domains of this process, and those of all the run's replicas in host memory,
/// for filling, saving and reading them between steps. If one domain has all replicas in host memory, both are the
/// same.
class RunVariables {
 public:
  /// `devices`: by lane. Sets the numbers of replicas in `store`. `workers`: one rank for each worker; null for one
  /// worker. All but the topology must outlive it. Throws Error if a device has too little memory.
  RunVariables(const Model& model, StoreOptions store, const UpdateOptions& update, const Topology& topology,
               std::span<Device* const> devices, const Backend& backend, Communicator* workers);

  MemoryDomain& of_lane(int lane) const { return *domains_[static_cast<std::size_t>(domain_of_lane(lane))]; }
  int domain_of_lane(int lane) const { return domain_of_lane_[static_cast<std::size_t>(lane)]; }
  const std::vector<std::unique_ptr<MemoryDomain>>& domains() const { return domains_; }

  /// Call before the lanes begin a step; see WeightUpdate::begin. The host's variables are outdated from then on.
  void begin_update(const StepSpec& step, StepParams& params);

  /// The variables of all replicas in host memory, which may be outdated.
  const VariableStore& host() const { return host_variables_ ? *host_variables_ : domains_[0]->variables; }
  bool host_is_outdated() const { return host_is_outdated_; }
  /// Broadcasts the chief's host variables to every worker.
  void take_from_chief() const;
  /// Updates the host's variables; called by every worker. `streams`: the lanes', with no work in flight.
  void update_host(std::span<Stream* const> streams);

  // On each lane, with its stream; these do nothing if the lanes compute on the host's variables.

  /// Copies the values written to the host's variables.
  void take_from_host(int lane, Stream& stream) const;
  /// Copies the values that evaluation reads if they are not a replica's own copy.
  void take_evaluation_copies(int lane, Stream& stream) const;

  std::size_t bytes() const;

 private:
  bool copies_from_host(int lane) const;
  void gather_from_workers() const;

  std::vector<int> domain_of_lane_;
  std::vector<std::unique_ptr<MemoryDomain>> domains_;
  std::unique_ptr<Device> host_;
  std::unique_ptr<VariableStore> host_variables_;  ///< null if the one domain's are used
  Communicator* workers_;
  bool host_is_outdated_ = false;
};

}  // namespace mirrortrain
