#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mirrortrain {

/// What a process of a cluster does, as in TF_CONFIG.
enum class Job { kChief, kWorker, kPs, kEvaluator };

/// One process of a cluster.
struct Task {
  Job job = Job::kWorker;
  int index = 0;

  /// "worker 1"; "chief" and "evaluator", of which there is one.
  std::string text() const;
  friend auto operator<=>(const Task&, const Task&) = default;
};

/// The processes of a run, where they listen, and which one this is: as TensorFlow's ClusterSpec with the task. An
/// address is "host:port"; empty where whoever started the processes does not say it, which the chief's never is.
struct ClusterSpec {
  std::optional<std::string> chief;
  std::vector<std::string> workers, ps;
  std::optional<std::string> evaluator;
  Task task;           ///< this process
  std::string source;  ///< who said so: "TF_CONFIG", "mpirun", "srun", "torchrun" or "strategy.cluster", for messages
  /// Workers that the run continues without (strategy.elastic).
  std::vector<Task> absent = {};
  /// MPI's launcher started the processes: it carries what they send each other, their addresses too (cluster/mpi).
  bool mpi = false;

  /// Every process, absent ones too: chief, workers, ps, evaluator.
  std::vector<Task> tasks() const;
  /// Those that train in step under multi_worker_mirrored, in the order of their ranks: the chief, if the cluster has
  /// that job, then the workers that are not absent. The first is the run's chief.
  std::vector<Task> trainers() const;
  /// The process that writes the run folder and that the others report to: the chief, or worker 0 where there is none.
  Task chief_task() const;
  bool is_chief() const { return task == chief_task(); }
  const std::string& address(const Task& of) const;
  /// "worker 1 (10.0.0.2:2222)"; without the address where it is not known.
  std::string describe(const Task& of) const;
  /// The same of the chief, "worker 0 (10.0.0.1:2222), the chief," where its name does not say that it is.
  std::string describe_chief() const;
};

/// How a task whose connection to the chief is silent says so, after describe_chief(): whoever started the tasks looks
/// for it in their last lines.
inline constexpr std::string_view kIsSilent = " has not been heard from";
/// Likewise how a task says, after the other's description, that it ends because another has, or hangs.
inline constexpr std::string_view kHasFailed = " failed", kHasEnded = " ended unexpectedly",
                                  kIsBehind = " is behind the others";

}  // namespace mirrortrain
