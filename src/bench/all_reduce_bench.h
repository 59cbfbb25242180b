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

/// What `mirrortrain bench-allreduce` is asked for.
struct AllReduceBenchOptions {
  /// one_pass, nccl or names of staged operations; none: all that the devices allow.
  std::vector<std::string> algorithms;
  std::uint64_t min_bytes = 8;
  std::uint64_t max_bytes = 64 << 20;
  std::uint64_t factor = 2;  ///< from one size to the next
  /// Elements, instead of the range above: measured in this order, each as often as it is listed.
  std::vector<std::size_t> counts;
  AggregationMethod method = AggregationMethod::kAddN;  ///< for the algorithms that use one
  std::optional<std::filesystem::path> json;            ///< where the results go as {"results": [...]}, too
};

/// What adds on the devices and across them.
struct BenchHardware {
  const StepKernels& kernels;
  std::function<std::string()> why_no_nccl;  ///< a sentence, or nothing where NCCL can be used
  std::function<Communicators(std::span<const int> gpus, double timeout_seconds)> make_nccl;
};

/// Measures the reducers that training uses (see GradientReducer), in place, and prints a row to `out` as soon as it is
/// there, then which algorithm was the fastest at which sizes. `replicas` on each device: 1, or more on a single GPU.
/// CPU devices are lanes that share one memory; each GPU is a memory of its own. Every sum is checked. Throws
/// UsageError for an unknown algorithm or an impossible range of sizes, Error where memory does not suffice or, once
/// all is printed, where an element was wrong.
std::vector<AllReduceResult> bench_all_reduce(const AllReduceBenchOptions& options, std::span<Device* const> devices,
                                              int replicas, const BenchHardware& hardware, std::FILE* out);

}  // namespace mirrortrain
