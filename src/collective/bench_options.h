#pragma once

#include <cstddef>
#include <cstdio>
#include <functional>
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

/// Names in the order asked for, else `all`. Left out are, and `out` says so, those that why_not(name) gives a reason
/// for. Throws UsageError for an unknown name and where none is left.
std::vector<std::string> algorithms_of(const AllReduceBenchOptions& options, const std::vector<std::string>& all,
                                       std::FILE* out,
                                       const std::function<std::string(const std::string& name)>& why_not);

/// In elements. Throws UsageError for an impossible range of sizes.
std::vector<std::size_t> counts_of(const AllReduceBenchOptions& options);

}  // namespace mirrortrain
