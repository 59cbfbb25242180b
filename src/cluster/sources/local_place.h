#pragma once

#include "cluster/cluster_spec.h"
#include "cluster/environment.h"

namespace mirrortrain {

/// The place that two of a launcher's variables give; alone on the host if one of them is not set. Throws UsageError,
/// naming the variable.
LocalPlace local_place(const Environment& environment, const char* rank, const char* size);

/// Of task `index` of `tasks` on its node of a step of SLURM: beside them, how many GPUs the step has on the node
/// (SLURM_GPUS_ON_NODE) and for each task (SLURM_GPUS_PER_TASK). Throws UsageError, naming the variable.
LocalPlace local_place_of_srun(const Environment& environment, int index, int tasks);

}  // namespace mirrortrain
