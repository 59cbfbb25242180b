#pragma once

#include <optional>

#include "cluster/cluster_spec.h"
#include "cluster/environment.h"

namespace mirrortrain {

// Who may say which task of which cluster it is. Each returns nothing where its variables are not set, and
// throws UsageError, naming the variable, where they are wrong.

/// TF_CONFIG, JSON: {"cluster": {"chief": ["host:port"], "worker": [...], "ps": [...], "evaluator": [...]}, "task":
/// {"type": "worker", "index": 0}}. As TensorFlow reads it: a job's tasks may also be a mapping from their indices, the
/// index a text, other keys (`environment`, `rpc_layer`) are ignored, no `cluster` or an empty one is as good as no
/// TF_CONFIG, and the evaluator need not be in the cluster: it is then known to itself alone, without an address.
/// Stricter than TensorFlow, which finds out later or never: a job of another name, missing indices, two tasks at one
/// address, a key written twice. `master`, TensorFlow 1's name of the chief, is refused, as TensorFlow 2's strategies
/// do.
std::optional<ClusterSpec> cluster_of_tf_config(const Environment& environment);

/// MPI's launcher: OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE, or PMI_RANK and PMI_SIZE. All are workers, without
/// addresses. PMI's variables that srun sets itself, for steps that it starts with --mpi=pmi2, are left to srun's.
std::optional<ClusterSpec> cluster_of_mpirun(const Environment& environment);

/// A step of SLURM, but not the batch script nor an interactive shell, which are steps of their own kind. All are
/// workers; worker i is the step's task i (SLURM_PROCID), on the node that SLURM_STEP_NODELIST,
/// SLURM_STEP_TASKS_PER_NODE and SLURM_DISTRIBUTION (block or cyclic) give. Its port is
/// 12000 + (SLURM_JOB_ID + 997 * SLURM_STEP_ID) mod 20000, or MIRRORTRAIN_PORT where that is set, plus the number of
/// tasks before it on its node.
std::optional<ClusterSpec> cluster_of_srun(const Environment& environment);

/// RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, as torchrun and Kubeflow's PyTorchJob set them. All are workers; only
/// the first has an address: MASTER_ADDR with MASTER_PORT, or the port above where torchrun's own agent listens on that
/// (TORCHELASTIC_USE_AGENT_STORE), or MIRRORTRAIN_PORT where that is set.
std::optional<ClusterSpec> cluster_of_torchrun(const Environment& environment);

}  // namespace mirrortrain
