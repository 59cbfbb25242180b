#pragma once

#include <span>
#include <string>
#include <vector>

#include "cluster/cluster_spec.h"
#include "launch/process.h"

namespace mirrortrain::launch {

/// Which tasks to start, and where.
struct LaunchOptions {
  int workers = 0;  ///< 0: one for each host
  int ps = 0;       ///< with servers the cluster has a chief, which is not a worker
  bool evaluator = false;
  std::vector<std::string> hosts;  ///< ssh's names, [user@]host; none: this machine
  int port = 2222;                 ///< of the first task on each host; increases by one for each further task
  std::string ssh;                 ///< a shell's words, before host and command
  std::string directory;           ///< in which tasks run on the hosts
  std::string executable;
  bool pin = true;  ///< give each training task its share of the cores here, and of its host's GPUs
};

/// A task with its host and cores.
struct PlacedTask {
  Task task;
  std::string host;                    ///< empty: this machine
  std::vector<int> cores;              ///< empty: all
  int local_rank = 0, local_size = 1;  ///< of a worker: its number among those of its host, which divide its GPUs
};

struct Plan {
  ClusterSpec cluster;
  std::vector<PlacedTask> tasks;
  std::string token;  ///< that the tasks get; empty: none
};

/// The number of tasks. Throws UsageError if it is zero.
int count_tasks(const LaunchOptions& options);

/// Distributes the tasks of each job over the hosts in order, as evenly as possible, with more on the first hosts;
/// chief and evaluator run on the first. Without hosts, on this machine, each task gets one of `local_ports` of
/// 127.0.0.1, and each training task an equal share of `cores`, unless there are too few. Workers of one host have
/// numbers there.
Plan make_plan(const LaunchOptions& options, std::span<const int> local_ports, std::span<const int> cores);

/// The value of TF_CONFIG for a task.
std::string tf_config(const ClusterSpec& cluster, const Task& task);

/// Starts `arguments`, a command line of the executable, as this task of the plan. `executable` may be another one.
ProcessOptions process_of(const Plan& plan, const PlacedTask& task, const LaunchOptions& options,
                          const std::string& executable, std::span<const std::string> arguments);

/// The same as shell lines: the task and its host as a comment, then the command.
std::string printed(const Plan& plan, const PlacedTask& task, const LaunchOptions& options,
                    std::span<const std::string> arguments);

}  // namespace mirrortrain::launch
