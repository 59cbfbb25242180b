#pragma once

#include <atomic>

#include "train/session/run_cluster.h"

namespace mirrortrain {

/// What a task does in a run with parameter servers that is not the chief: a server keeps its part of the variables, a
/// worker computes steps, the evaluator evaluates each new checkpoint. Returns when the chief has ended the run. Throws
/// Error where the run, or this task, fails. `signal`: one that came to this task, or 0, at which the chief ends the
/// run.
void work_beside_chief(const CheckedConfiguration& checked, const RunCluster& cluster, const std::atomic<int>& signal);

}  // namespace mirrortrain
