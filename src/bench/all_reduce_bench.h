#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/bench_report.h"
#include "collective/communicator.h"
#include "device/device.h"
#include "graph/aggregation_method.h"
#include "kernels/step_kernels.h"

namespace mirrortrain {

/// The options of `mirrortrain bench-allreduce`.
struct AllReduceBenchOptions {
  /// one_pass, nccl or names of staged operations; none: all that the devices support.
  std::vector<std::string> algorithms;
  std::uint64_t min_bytes = 8;
  std::uint64_t max_bytes = 64 << 20;
  std::uint64_t factor = 2;  ///< between consecutive sizes
  /// Numbers of elements, instead of the range above: measured in this order, also repeatedly.
  std::vector<std::size_t> counts;
  AggregationMethod method = AggregationMethod::kAddN;  ///< for the algorithms that use one
  std::optional<std::filesystem::path> json;            ///< a file for the results as {"results": [...]}
};

/// The kernels and communicators of the devices.
struct BenchHardware {
  const StepKernels& kernels;
  std::function<std::string()> why_no_nccl;  ///< a sentence; empty if NCCL can be used
  std::function<Communicators(std::span<const int> gpus, double timeout_seconds)> make_nccl;
};

/// Measures the reducers that training uses (see GradientReducer), in place, and prints each row to `out` as soon as it
/// is measured, then the fastest algorithms by size. `replicas` on each device: 1, or more on a single GPU. CPU devices
/// are lanes that share one memory; each GPU has its own memory. Every sum is checked. Throws UsageError for an unknown
/// algorithm or an invalid range of sizes, Error if there is not enough memory or, after printing everything, if an
/// element was wrong.
std::vector<AllReduceResult> bench_all_reduce(const AllReduceBenchOptions& options, std::span<Device* const> devices,
                                              int replicas, const BenchHardware& hardware, std::FILE* out);

}  // namespace mirrortrain
