#include "collective/bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "collective/all_reduce_timer.h"
#include "collective/bench_options.h"
#include "collective/local/local_group.h"
#include "device/cpu/cpu_device.h"

namespace mirrortrain {
namespace {

/// The algorithms in the order asked for. nccl needs GPUs.
std::vector<std::string> algorithms_of(const AllReduceBenchOptions& options, std::FILE* out) {
  std::vector<std::string> names = options.algorithms.empty() ? local_algorithm_names() : options.algorithms;
  if (std::erase(names, "nccl") > 0) fmt::print(out, "# nccl is left out: it needs GPUs, and these devices are none\n");
  if (names.empty()) throw UsageError("--algorithms: no algorithm is left for these devices");
  for (const std::string& name : names) local_algorithm_named(name);
  return names;
}

void print_head(std::FILE* out, std::span<Device* const> devices) {
  std::vector<std::string> names;
  for (const Device* device : devices) names.push_back(device->id().text());
  fmt::print(out, "# sums float elements in place over {} rank{}: {}\n", names.size(), names.size() == 1 ? "" : "s",
             fmt::join(names, ", "));
  fmt::print(out, "# every element of every repetition is checked; time is the median of the repetitions\n");
}

}  // namespace

std::vector<AllReduceResult> bench_all_reduce(const AllReduceBenchOptions& options, std::span<Device* const> devices,
                                              std::FILE* out) {
  const std::vector<std::size_t> counts = counts_of(options);
  const std::vector<std::string> algorithms = algorithms_of(options, out);
  print_head(out, devices);
  AllReduceReport report(out, false);
  const bool spin = devices.size() <= usable_cores().size();
  const double n = static_cast<double>(devices.size());
  for (const std::string& name : algorithms) {
    const LocalGroup group(static_cast<int>(devices.size()), {.algorithm = local_algorithm_named(name),
                                                              .method = options.method,
                                                              .spin = spin,
                                                              .timeout_seconds = kBenchTimeoutSeconds});
    time_all_reduce(group.ranks(), devices, counts, {.spin = spin, .timeout_seconds = kBenchTimeoutSeconds},
                    [&](std::size_t index, const AllReduceTiming& timing) {
                      report.add(name, counts[index], figures_of(timing, counts[index], 2 * (n - 1) / n));
                    });
  }
  print_busbw_of_ranks(out, devices.size());
  report.finish(!options.counts.empty(), options.json);
  return report.results();
}

}  // namespace mirrortrain
