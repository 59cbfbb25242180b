#pragma once

#include <optional>
#include <string>

#include "cluster/cluster_options.h"
#include "cluster/cluster_spec.h"
#include "cluster/environment.h"

namespace mirrortrain {

/// A task's number on its host and how many there are, which share the host's GPUs; `launch` sets them.
inline constexpr const char *kLocalRankVariable = "MIRRORTRAIN_LOCAL_RANK",
                            *kLocalSizeVariable = "MIRRORTRAIN_LOCAL_SIZE";

/// The cluster that this process belongs to, from the first of these that specifies one:
///
///   TF_CONFIG          as in TensorFlow; an empty one, `{}` and a TF_CONFIG without `cluster` specify none
///   torchrun           RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT beside its agent's TORCHELASTIC_RUN_ID
///   mpirun             OMPI_COMM_WORLD_RANK and _SIZE of Open MPI, PMI_RANK and PMI_SIZE of MPICH and Intel MPI
///   srun               SLURM's variables of a step
///   RANK               and WORLD_SIZE, MASTER_ADDR, MASTER_PORT, as others set them in torchrun's way
///   SM_HOSTS           and SM_CURRENT_HOST of SageMaker
///   strategy.cluster   with its `task`
///
/// Its LocalPlace comes from the same variables, or from MIRRORTRAIN_LOCAL_RANK and _SIZE, which come first. nullopt if
/// none does. A single worker is a cluster of one. The tasks of mpirun have no addresses yet: mpi::Session
/// fills them in; of torchrun's, only the chief has one. Nothing is connected, resolved or started. Throws UsageError,
/// with place and remedy, for any mistake.
std::optional<ClusterSpec> discover_cluster(const ClusterOptions& options, const Environment& environment);

/// Whether the environment, regardless of the configuration, describes more than one process, and how: "mpirun started
/// 4 processes", "TF_CONFIG lists 2 tasks". For commands that train in a single process only: several processes would
/// each do the same and overwrite each other's files. Throws UsageError as discover_cluster does.
std::optional<std::string> several_processes(const Environment& environment);

}  // namespace mirrortrain
