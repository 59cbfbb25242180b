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
#include "strategy/reduction/memory_groups.h"
#include "train/session/check_configuration.h"
#include "train/session/hardware.h"
#include "train/session/parameter_server_task.h"
#include "train/session/run.h"

namespace mirrortrain {

/// This process's place in a run on several machines, and its connections to the other tasks. Outlives the strategy,
/// which communicates through it.
class RunCluster {
 public:
  /// Connects with every other task of the configuration's cluster; all must run the same `command` ("fit --resume").
  /// `generation`: of an elastic run's tasks. Throws the exceptions of ControlPlane::join.
  RunCluster(const CheckedConfiguration& checked, const std::string& command, const rpc::Generation& generation = {},
             const Environment& environment = process_environment());

  rpc::ControlPlane& control() const { return *control_; }
  /// Whether this task trains synchronously with the others.
  bool trains_in_step() const;
  /// This task's part in a run with parameter servers; null in other runs.
  const ParameterServerTask* parameter_server_task() const { return servers_ ? &*servers_ : nullptr; }
  /// For the chief's strategy; nothing without parameter servers.
  std::optional<ParameterServerRole> parameter_servers() const;
  const ClusterSpec& spec() const { return spec_; }
  /// Of a task that trains synchronously: its number among the workers, and how many there are.
  Cluster workers() const;
  /// Call it if the exception being handled ends this task: notifies the others and rethrows it; if another task's
  /// failure is the cause, as an exception that ends this task with the same exit code.
  [[noreturn]] void end_with(const std::exception& error) const;
  /// Called by every task that trains synchronously: throws UsageError if `value` differs from the chief's.
  void require_same(const std::string& what, const std::string& value) const;
  /// The same for every data set of the run: called by the chief and by every task that is given rows of them.
  void require_same_data(const Run& run) const;
  /// This machine's CPUs and GPUs, with communicators across the workers.
  Hardware hardware() const;

 private:
  std::pair<std::shared_ptr<Communicator>, std::string> among_workers(std::span<const int> workers,
                                                                      const StrategyOptions& strategy,
                                                                      std::string_view purpose = "") const;
  StageCommunicators among_stages(const Topology& topology, const StrategyOptions& strategy) const;
  void warn_of_distance(const Topology& topology) const;
  /// `purpose`: as of among_workers.
  Communicators among_gpus(const MemoryGroup& group, const Topology& topology, double timeout,
                           std::string_view purpose = "") const;

  ClusterSpec spec_;
  std::shared_ptr<mpi::Session> mpi_;  ///< if MPI's launcher started the tasks
  rpc::Security security_;
  std::optional<ParameterServerTask> servers_;
  std::unique_ptr<rpc::ControlPlane> control_;  ///< before members that it serves
};

/// Connects with the other tasks of the configuration's cluster, which run the same `command`, and returns
/// work(cluster). What it throws ends the other tasks, too.
template <class Work>
int among_tasks(const CheckedConfiguration& checked, const std::string& command, const Work& work) {
  const RunCluster cluster(checked, command);
  struct Quiet {  // the strategy, which a failure elsewhere aborts, is destroyed before the control plane
    rpc::ControlPlane& control;
    ~Quiet() { control.on_failure({}); }
  } const quiet{cluster.control()};
  try {
    return work(cluster);
  } catch (const std::exception& error) {
    cluster.end_with(error);
  }
}

/// The cluster for the configuration's strategy, from the environment or the configuration; nothing for a strategy of
/// one machine, and if no cluster is given. Throws UsageError for errors in it.
std::optional<ClusterSpec> cluster_of(const Configuration& values, const Environment& environment);

/// The place of a task of multi_worker_mirrored among the workers.
Cluster workers_of(const ClusterSpec& cluster);

/// The hardware of a task that is built and looked at without the others, with which nothing can be exchanged.
Hardware unconnected_hardware(const CheckedConfiguration& checked);

/// Call it before a run: throws UsageError if the strategy needs a cluster and there is none, or if it is for one
/// machine and this process is one of several that would do the same.
void require_cluster(const CheckedConfiguration& checked, const Environment& environment);

}  // namespace mirrortrain
