#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirrortrain {

/// The job of a cluster's process, as in TF_CONFIG.
enum class Job { kChief, kWorker, kPs, kEvaluator };

/// One process of a cluster.
struct Task {
  Job job = Job::kWorker;
  int index = 0;

  /// "worker 1"; "chief" and "evaluator", which exist only once, have no number.
  std::string text() const;
  friend auto operator<=>(const Task&, const Task&) = default;
};

/// A process's place among the tasks on its host that compute, which divide the host's GPUs. Of a single one, all are
/// its own.
struct LocalPlace {
  int index = 0, tasks = 1;
  int gpus_per_task = 0;  ///< as the launcher was asked; 0: the same number for each
  int gpus_of_host = 0;   ///< of the run, as the launcher reports; 0: unknown
};

/// The processes of a run, their addresses, and this process's task: like TensorFlow's ClusterSpec together with the
/// task. An address is "host:port", or empty if the launcher does not provide it; the chief's is never empty.
struct ClusterSpec {
  std::optional<std::string> chief;
  std::vector<std::string> workers, ps;
  std::optional<std::string> evaluator;
  Task task;           ///< this process
  std::string source;  ///< "TF_CONFIG", "mpirun", "srun", "torchrun", "SM_HOSTS" or "strategy.cluster", for messages
  /// Workers that the run continues without (strategy.elastic).
  std::vector<Task> absent = {};
  /// MPI's launcher started the processes: they communicate by MPI, also to exchange addresses (cluster/mpi).
  bool mpi = false;
  LocalPlace local = {};

  /// Every process, absent ones too: chief, workers, ps, evaluator.
  std::vector<Task> tasks() const;
  /// The tasks that train synchronously under multi_worker_mirrored, in rank order: the chief, if the cluster has that
  /// job, then the workers that are not absent. The first is the run's chief.
  std::vector<Task> trainers() const;
  /// The process that writes the run folder and to which the others report: the chief, or worker 0 if there is none.
  Task chief_task() const;
  bool is_chief() const { return task == chief_task(); }
  const std::string& address(const Task& of) const;
  /// "worker 1 (10.0.0.2:2222)"; without the address if it is not known.
  std::string describe(const Task& of) const;
  /// The same for the chief; "worker 0 (10.0.0.1:2222), the chief," if its name is not "chief".
  std::string describe_chief() const;
};

/// The text by which a task reports a silent connection to the chief, after describe_chief(): the launcher searches the
/// tasks' last lines for it.
inline constexpr std::string_view kIsSilent = " has not been heard from";
/// Likewise, after another task's description, the texts by which a task reports that it ends because that task has
/// failed, ended or hangs.
inline constexpr std::string_view kHasFailed = " failed", kHasEnded = " ended unexpectedly",
                                  kIsBehind = " is behind the others";

}  // namespace mirrortrain
