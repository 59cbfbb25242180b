#pragma once

#include <atomic>

#include "train/session/run_cluster.h"

namespace mirrortrain {

/// Runs a task other than the chief in a run with parameter servers: a server stores its part of the variables, a
/// worker computes steps, the evaluator evaluates each new checkpoint. Returns when the chief has ended the run. Throws
/// Error if the run, or this task, fails. `signal`: the signal that this task received, or 0; at a signal, the chief
/// ends the run.
void work_beside_chief(const CheckedConfiguration& checked, const RunCluster& cluster, const std::atomic<int>& signal);

}  // namespace mirrortrain
