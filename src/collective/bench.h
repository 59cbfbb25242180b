#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collective/bench_report.h"
#include "device/device.h"
#include "graph/aggregation_method.h"

namespace mirrortrain {

/// What `mirrortrain bench-allreduce` is asked for.
struct AllReduceBenchOptions {
  std::vector<std::string> algorithms;  ///< names of kLocalAlgorithmNames, or nccl; none: all that the devices allow
  std::uint64_t min_bytes = 8;
  std::uint64_t max_bytes = 64 << 20;
  std::uint64_t factor = 2;  ///< from one size to the next
  /// Elements, instead of the range above: measured in this order, each as often as it stands here.
  std::vector<std::size_t> counts;
  AggregationMethod method = AggregationMethod::kAddN;  ///< for the algorithms that use one
  std::optional<std::filesystem::path> json;            ///< where the results go as {"results": [...]}, too
};

/// Measures summing in place over one rank per CPU device, on a thread of its own each, and prints a row to `out` as
/// soon as it is there, then which algorithm was the fastest at which sizes. Before each repetition every rank writes
/// new elements, as a training step does, and after it checks every one. Throws UsageError for an unknown algorithm or
/// an impossible range of sizes, Error where memory does not suffice or, once all is printed, where an element was
/// wrong.
std::vector<AllReduceResult> bench_all_reduce(const AllReduceBenchOptions& options, std::span<Device* const> devices,
                                              std::FILE* out);

}  // namespace mirrortrain
