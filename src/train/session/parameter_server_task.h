#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cluster/cluster_spec.h"
#include "rpc/control_plane.h"
#include "strategy/parameter_server/dispatch_service.h"
#include "strategy/parameter_server/parameter_server.h"
#include "train/session/run.h"

namespace mirrortrain {

/// Throws UsageError if the cluster has no chief, no worker or no parameter server.
void require_parameter_server_jobs(const ClusterSpec& cluster);

/// A task's part in a run with `strategy.type: parameter_server`: the chief runs the training loop with the strategy
/// that build_run creates for `role()`; parameter servers and workers call `work()`.
class ParameterServerTask {
 public:
  /// All must outlive it. Throws UsageError if the cluster has no chief, no worker or no parameter server.
  ParameterServerTask(const CheckedConfiguration& checked, const ClusterSpec& cluster, const rpc::Security& security);

  /// Services that this task's server must have before the others call it: for ControlPlane::join.
  std::vector<grpc::Service*> services() const;
  /// How long to wait for other tasks, and which not to wait for: workers may fail and come back.
  rpc::Timeouts timeouts() const;

  /// The chief's role, for RunParts.
  ParameterServerRole role() const;

  /// For a parameter server or a worker: returns when the run is done. `failure`: polled for the reason why the run has
  /// failed elsewhere; empty while it has not. `begin_step`: called with each step that a worker computes. Throws Error
  /// if the run has failed, or if this task fails.
  void work(const Hardware& hardware, const std::function<std::string()>& failure = {},
            const std::function<void(std::int64_t)>& begin_step = {},
            const std::function<void(const Run&)>& require_data = {}) const;

 private:
  void compute(const Hardware& hardware, const std::function<std::string()>& failure,
               const std::function<void(std::int64_t)>& begin_step,
               const std::function<void(const Run&)>& require_data) const;

  const CheckedConfiguration& checked_;
  const ClusterSpec& cluster_;
  const rpc::Security& security_;
  std::unique_ptr<DispatchService> dispatch_;  ///< of the chief
  std::unique_ptr<ParameterServer> server_;    ///< of a parameter server
};

}  // namespace mirrortrain
