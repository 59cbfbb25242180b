#pragma once

#include <optional>
#include <string>

#include "cluster/cluster_options.h"
#include "cluster/cluster_spec.h"
#include "cluster/environment.h"

namespace mirrortrain {

/// The cluster that this process belongs to, from the first that names one of:
///
///   TF_CONFIG          as TensorFlow reads it; an empty one, `{}` and a TF_CONFIG without `cluster` name none
///   mpirun             OMPI_COMM_WORLD_RANK and _SIZE of Open MPI, PMI_RANK and PMI_SIZE of MPICH and Intel MPI
///   srun               SLURM's variables of a step
///   torchrun           RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT
///   strategy.cluster   with its `task`
///
/// Nothing where none does. A single worker is a cluster of one. The tasks of mpirun have no addresses yet:
/// mpi::Session fills them in; those of torchrun have none but the chief's. Nothing is connected, resolved or started.
/// Throws UsageError, with place and remedy, for whatever is wrong.
std::optional<ClusterSpec> discover_cluster(const ClusterOptions& options, const Environment& environment);

/// Whether the environment, whatever the configuration says, describes more than one process, and how: "mpirun started
/// 4 processes", "TF_CONFIG lists 2 tasks". For what trains in a single process alone: there, each of several would do
/// the same and write over the others. Throws UsageError as discover_cluster does.
std::optional<std::string> several_processes(const Environment& environment);

}  // namespace mirrortrain
