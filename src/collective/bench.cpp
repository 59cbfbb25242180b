#include "collective/bench.h"

#include "collective/all_reduce_timer.h"
#include "collective/bench_options.h"
#include "collective/local/local_group.h"
#include "device/cpu/cpu_device.h"

namespace mirrortrain {

std::vector<AllReduceResult> bench_all_reduce(const AllReduceBenchOptions& options, std::span<Device* const> devices,
                                              std::FILE* out) {
  const std::vector<std::size_t> counts = counts_of(options);
  const std::vector<std::string> algorithms =
      algorithms_of(options, local_algorithm_names(), out, [](const std::string& name) -> std::string {
        return name == "nccl" ? "it needs GPUs, and these devices are none" : "";
      });
  print_ranks(out, devices, true);
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
