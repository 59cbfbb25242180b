#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collective/bench.h"
#include "collective/local/reduction.h"

namespace mirrortrain {

/// How long ranks of a bench wait for each other.
inline constexpr double kBenchTimeoutSeconds = 60;

/// Names of kLocalAlgorithmNames.
std::vector<std::string> local_algorithm_names();

/// Throws UsageError for an unknown name.
LocalAlgorithm local_algorithm_named(const std::string& wanted);

/// In elements. Throws UsageError for an impossible range of sizes.
std::vector<std::size_t> counts_of(const AllReduceBenchOptions& options);

}  // namespace mirrortrain
