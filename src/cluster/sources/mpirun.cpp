#include "cluster/cluster_rules.h"
#include "cluster/sources/local_place.h"
#include "cluster/sources/sources.h"

namespace mirrortrain {
namespace {

/// Whether srun, not MPI's launcher, set PMI's variables: they then agree with srun's own.
bool is_of_srun(const Environment& environment) {
  const auto same = [&](const char* pmi, const char* slurm) {
    return environment(slurm) && environment(pmi) == environment(slurm);
  };
  return same("PMI_RANK", "SLURM_PROCID") && same("PMI_SIZE", "SLURM_STEP_NUM_TASKS");
}

ClusterSpec workers(const Environment& environment, const std::string& rank, const std::string& size) {
  const long count = required_number(environment, size, 1, kMostTasks, "which mpirun sets beside " + rank);
  ClusterSpec cluster;
  cluster.source = "mpirun";
  cluster.mpi = true;
  cluster.workers.resize(static_cast<std::size_t>(count));
  cluster.task.index =
      static_cast<int>(required_number(environment, rank, 0, count - 1, "which mpirun sets beside " + size));
  return cluster;
}

}  // namespace

std::optional<ClusterSpec> cluster_of_mpirun(const Environment& environment) {
  if (environment("OMPI_COMM_WORLD_RANK") || environment("OMPI_COMM_WORLD_SIZE")) {
    ClusterSpec cluster = workers(environment, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE");
    cluster.local = local_place(environment, "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE");
    return cluster;
  }
  const bool has_pmi = environment("PMI_RANK") || environment("PMI_SIZE");
  if (!has_pmi || is_of_srun(environment)) return std::nullopt;
  ClusterSpec cluster = workers(environment, "PMI_RANK", "PMI_SIZE");
  cluster.local = local_place(environment, "MPI_LOCALRANKID", "MPI_LOCALNRANKS");
  return cluster;
}

}  // namespace mirrortrain
