#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "cluster/cluster_spec.h"
#include "cluster/environment.h"
#include "cluster/mpi/session.h"
#include "collective/communicator.h"
#include "collective/process_group.h"
#include "rpc/control_plane.h"
#include "train/session/check_configuration.h"
#include "train/session/hardware.h"
#include "train/session/parameter_server_task.h"
#include "train/session/run.h"

namespace mirrortrain {

/// This process's place in a run on several machines, and its connections to the other tasks. Outlives the strategy
/// that adds over it.
class RunCluster {
 public:
  /// Meets every other task of the configuration's cluster, which must all run the same `command` ("fit --resume").
  /// `generation`: of an elastic run's tasks. Throws what ControlPlane::join does.
  RunCluster(const CheckedConfiguration& checked, const std::string& command, const rpc::Generation& generation = {},
             const Environment& environment = process_environment());

  rpc::ControlPlane& control() const { return *control_; }
  /// Whether this task trains in step with the others: multi_worker_mirrored.
  bool trains_in_step() const;
  /// This task's part in a run with parameter servers; null in others.
  const ParameterServerTask* parameter_server_task() const { return servers_ ? &*servers_ : nullptr; }
  /// For the chief's strategy; nothing without parameter servers.
  std::optional<ParameterServerRole> parameter_servers() const;
  const ClusterSpec& spec() const { return spec_; }
  /// For multi_worker_mirrored: which worker this is, of how many.
  Cluster workers() const;
  /// Where this task is ended by the exception that is being handled: the others learn of it. Throws it again; where
  /// another task's failure is the cause, as what ends this task with the same exit code.
  [[noreturn]] void end_with(const std::exception& error) const;
  /// Every task that trains in step calls it: throws UsageError where `value` is not the chief's.
  void require_same(const std::string& what, const std::string& value) const;
  /// The same of every data set of the run: the chief calls it, and every task that is given rows of them.
  void require_same_data(const Run& run) const;
  /// This machine's CPUs and GPUs, with ways to add across the workers.
  Hardware hardware() const;

 private:
  std::pair<std::shared_ptr<Communicator>, std::string> among_workers(const Cluster& cluster, bool may_share,
                                                                      double timeout, const RendezvousStore& meeting,
                                                                      const OperationWatch& watch) const;

  ClusterSpec spec_;
  std::shared_ptr<mpi::Session> mpi_;  ///< where MPI's launcher started the tasks
  rpc::Security security_;
  std::optional<ParameterServerTask> servers_;
  std::unique_ptr<rpc::ControlPlane> control_;  ///< before what it serves
};

/// The cluster that the configuration's strategy runs on, as the environment or the configuration says; nothing for a
/// strategy of one machine, and where nobody names a cluster. Throws UsageError for what is wrong with it.
std::optional<ClusterSpec> cluster_of(const Configuration& values, const Environment& environment);

/// Before a run: throws UsageError where the strategy needs a cluster and there is none, or where it is for one machine
/// and this process is one of several that would do the same.
void require_cluster(const CheckedConfiguration& checked, const Environment& environment);

}  // namespace mirrortrain
