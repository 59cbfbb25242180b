#pragma once

#include "train/session/run_cluster.h"
#include "train/stop_requests.h"

namespace mirrortrain {

/// Runs a task other than the chief in a run with parameter servers: a server stores its part of the variables, a
/// worker computes steps, the evaluator evaluates each new checkpoint. Returns when the chief has ended the run. Throws
/// Error if the run, or this task, fails. Once one of `requests`, of this task, is due, the chief ends the run.
void work_beside_chief(const CheckedConfiguration& checked, const RunCluster& cluster, StopRequests& requests);

}  // namespace mirrortrain
