#pragma once

#include <cstddef>
#include <vector>

#include "bench/all_reduce_bench.h"
#include "strategy/topology.h"
#include "train/session/check_configuration.h"

namespace mirrortrain {

/// The number of elements of each gradient bucket of the configuration's model, in the order in which they are reduced.
/// Empty if there are no gradients.
std::vector<std::size_t> bucket_counts(const CheckedConfiguration& checked);

/// Calls bench_all_reduce on a topology's devices: each is one rank, except that a single GPU may have several
/// replicas. Prints to stdout, without the table if the results go there as JSON. Throws UsageError for a device that
/// is listed twice.
void bench_on_devices(const Topology& topology, const AllReduceBenchOptions& options);

}  // namespace mirrortrain
