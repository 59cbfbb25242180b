#include "cluster/discover.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cluster/cluster_rules.h"
#include "cluster/sources/sources.h"

namespace mirrortrain {
namespace {

std::optional<ClusterSpec> cluster_from(const Environment& environment) {
  if (std::optional<ClusterSpec> cluster = cluster_of_tf_config(environment)) return cluster;
  // srun or mpirun may have started torchrun's agent on each host: then torchrun's are this process's own variables.
  const bool has_agent = environment("TORCHELASTIC_RUN_ID").has_value();
  if (std::optional<ClusterSpec> cluster = has_agent ? cluster_of_torchrun(environment) : std::nullopt) return cluster;
  for (const auto& source : {cluster_of_mpirun, cluster_of_srun, cluster_of_torchrun, cluster_of_sagemaker}) {
    if (std::optional<ClusterSpec> cluster = source(environment)) return cluster;
  }
  return std::nullopt;
}

/// Whatever started the task, these variables say its place on its host.
void take_local_place(const Environment& environment, ClusterSpec& cluster) {
  const auto tasks = number_in(environment, kLocalSizeVariable, 1, kMostTasks);
  if (!tasks) return;
  const std::string why = fmt::format("which goes with {}", kLocalSizeVariable);
  const long index = required_number(environment, kLocalRankVariable, 0, *tasks - 1, why);
  cluster.local = {static_cast<int>(index), static_cast<int>(*tasks)};
}

std::optional<ClusterSpec> from_environment(const Environment& environment) {
  std::optional<ClusterSpec> cluster = cluster_from(environment);
  if (cluster) take_local_place(environment, *cluster);
  return cluster;
}

}  // namespace

std::optional<ClusterSpec> discover_cluster(const ClusterOptions& options, const Environment& environment) {
  if (std::optional<ClusterSpec> cluster = from_environment(environment)) return cluster;
  std::optional<ClusterSpec> cluster = options.tasks();
  if (cluster) take_local_place(environment, *cluster);
  if (cluster && !options.task) {
    throw UsageError(
        "strategy.cluster.task: expected which of the cluster's tasks this process is, found null; add `--set "
        "\"strategy.cluster.task={type: worker, index: 0}\"` on the first worker's command line, index 1 on the "
        "second's, and so on, or let `mirrortrain launch` start every task");
  }
  return cluster;
}

std::optional<std::string> several_processes(const Environment& environment) {
  const std::optional<ClusterSpec> cluster = from_environment(environment);
  if (!cluster || cluster->tasks().size() < 2) return std::nullopt;
  const bool is_list = cluster->source == "TF_CONFIG" || cluster->source == "SM_HOSTS";
  if (is_list) return fmt::format("{} lists {} tasks", cluster->source, cluster->tasks().size());
  return fmt::format("{} started {} processes", cluster->source, cluster->tasks().size());
}

}  // namespace mirrortrain
