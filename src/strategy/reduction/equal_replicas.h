#pragma once

#include <map>
#include <span>
#include <string>

#include "strategy/reduction/workers.h"
#include "strategy/variables/run_variables.h"

namespace mirrortrain {

/// Compares the variables that all replicas share, in every memory of the run. Returns the first whose copies differ,
/// and the replicas ("dense/kernel: replica 2 has other values than the rest"); empty if all are equal. `streams`: the
/// lanes', with no work in flight. Called by every worker.
std::string differing_replicas(const RunVariables& variables, std::span<Stream* const> streams, const Workers& workers);

}  // namespace mirrortrain
