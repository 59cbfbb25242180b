#pragma once

#include <optional>

#include "cluster/cluster_spec.h"
#include "cluster/environment.h"

namespace mirrortrain {

// The sources that may specify a process's cluster and task. Each returns nullopt if its variables are not set, and
// throws UsageError, naming the variable, if they are wrong.

/// TF_CONFIG, JSON: {"cluster": {"chief": ["host:port"], "worker": [...], "ps": [...], "evaluator": [...]}, "task":
/// {"type": "worker", "index": 0}}. As in TensorFlow: a job's tasks may also be a mapping from their indices, the index
/// may be a text, other keys (`environment`, `rpc_layer`) are ignored, no `cluster` or an empty one is equivalent to no
/// TF_CONFIG, and the evaluator need not be in the cluster: then only it knows of itself, without an address. Unlike
/// TensorFlow, which detects them later or never, rejects unknown jobs, missing indices, two tasks with one address,
/// and duplicate keys. `master`, TensorFlow 1's name of the chief, is rejected, as in TensorFlow 2's strategies.
std::optional<ClusterSpec> cluster_of_tf_config(const Environment& environment);

/// MPI's launcher: OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE, or PMI_RANK and PMI_SIZE. All are workers, without
/// addresses. PMI's variables set by srun itself, for steps started with --mpi=pmi2, are left to cluster_of_srun.
std::optional<ClusterSpec> cluster_of_mpirun(const Environment& environment);

/// A job step of SLURM, but not the batch script or an interactive shell, which are special steps. All are workers;
/// worker i is the step's task i (SLURM_PROCID), on the node that SLURM_STEP_NODELIST, SLURM_STEP_TASKS_PER_NODE and
/// SLURM_DISTRIBUTION (block or cyclic) give. Its port is
/// 12000 + (SLURM_JOB_ID + 997 * SLURM_STEP_ID) mod 20000, or MIRRORTRAIN_PORT if set, plus the number of tasks before
/// it on its node.
std::optional<ClusterSpec> cluster_of_srun(const Environment& environment);

/// RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, as torchrun and Kubeflow's PyTorchJob set them. All are workers; only
/// the first has an address: MASTER_ADDR with MASTER_PORT, or the next port if torchrun's own agent listens on that one
/// (TORCHELASTIC_USE_AGENT_STORE), or MIRRORTRAIN_PORT if set.
std::optional<ClusterSpec> cluster_of_torchrun(const Environment& environment);

/// SageMaker's SM_HOSTS, a JSON list of hosts, and SM_CURRENT_HOST: all are workers, in the order of their sorted names,
/// at port 2223 or MIRRORTRAIN_PORT, as TensorFlow's SageMakerClusterResolver has them.
std::optional<ClusterSpec> cluster_of_sagemaker(const Environment& environment);

}  // namespace mirrortrain
