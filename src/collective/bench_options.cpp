#include "collective/bench_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "config/scalar.h"

namespace mirrortrain {

std::vector<std::string> local_algorithm_names() {
  std::vector<std::string> names;
  for (const auto& [name, algorithm] : kLocalAlgorithmNames) names.emplace_back(name);
  return names;
}

LocalAlgorithm local_algorithm_named(const std::string& wanted) {
  for (const auto& [name, algorithm] : kLocalAlgorithmNames) {
    if (name == wanted) return algorithm;
  }
  throw UsageError(fmt::format("--algorithms: unknown algorithm '{}'{}; there are {}", wanted,
                               config::suggestion(wanted, local_algorithm_names()),
                               fmt::join(local_algorithm_names(), ", ")));
}

std::vector<std::string> algorithms_of(const AllReduceBenchOptions& options, const std::vector<std::string>& all,
                                       std::FILE* out,
                                       const std::function<std::string(const std::string& name)>& why_not) {
  std::vector<std::string> names = options.algorithms.empty() ? all : options.algorithms;
  for (const std::string& name : names) {
    if (name != "nccl") local_algorithm_named(name);
  }
  std::erase_if(names, [&](const std::string& name) {
    const std::string reason = why_not(name);
    if (!reason.empty()) fmt::print(out, "# {} is left out: {}\n", name, reason);
    return !reason.empty();
  });
  if (names.empty()) throw UsageError("--algorithms: no algorithm is left for these devices");
  return names;
}

std::vector<std::size_t> counts_of(const AllReduceBenchOptions& options) {
  if (!options.counts.empty()) return options.counts;
  if (options.min_bytes < sizeof(float)) {
    throw UsageError(
        fmt::format("-b: the least size is {} bytes, one element, found {}", sizeof(float), options.min_bytes));
  }
  if (options.max_bytes < options.min_bytes) {
    throw UsageError(fmt::format("-e: the largest size, {} bytes, is less than the smallest, {}; give a larger -e",
                                 options.max_bytes, options.min_bytes));
  }
  if (options.factor < 2) throw UsageError(fmt::format("-f: the factor is at least 2, found {}", options.factor));
  std::vector<std::size_t> counts;
  for (std::uint64_t bytes = options.min_bytes;; bytes *= options.factor) {
    counts.push_back(bytes / sizeof(float));
    if (bytes > options.max_bytes / options.factor) return counts;
  }
}

}  // namespace mirrortrain
