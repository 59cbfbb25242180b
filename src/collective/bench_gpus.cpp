#include "collective/bench_gpus.h"

#include <fmt/format.h>

#include "collective/all_reduce_timer.h"
#include "collective/bench_options.h"
#include "collective/peer/peer_group.h"
#include "collective/replica_sum_timer.h"
#include "device/cpu/cpu_device.h"

namespace mirrortrain {
namespace {

/// The ranks of one algorithm.
Communicators make_ranks(const std::string& name, AggregationMethod method, std::span<Device* const> gpus, bool spin,
                         const GpuCollectives& collectives) {
  if (name == "nccl") {
    std::vector<int> indices;
    for (const Device* gpu : gpus) indices.push_back(gpu->id().index);
    return owned(collectives.make_nccl(indices, kBenchTimeoutSeconds));
  }
  const LocalReduction reduction(local_algorithm_named(name), static_cast<int>(gpus.size()), method);
  const auto peers = std::make_shared<PeerGroup>(
      reduction, gpus, collectives.sum, PeerGroupOptions{.spin = spin, .timeout_seconds = kBenchTimeoutSeconds});
  return {peers, peers->ranks()};
}

}  // namespace

std::vector<AllReduceResult> bench_gpus(const AllReduceBenchOptions& options, std::span<Device* const> gpus,
                                        std::FILE* out, const GpuCollectives& collectives) {
  const std::vector<std::size_t> counts = counts_of(options);
  std::vector<std::string> all = local_algorithm_names();
  all.insert(all.begin(), "nccl");
  const std::vector<std::string> algorithms = algorithms_of(options, all, out, [&](const std::string& name) {
    return name == "nccl" ? collectives.why_no_nccl() : std::string();
  });
  print_ranks(out, gpus, false);
  AllReduceReport report(out, true);
  const bool spin = gpus.size() <= usable_cores().size();
  const double n = static_cast<double>(gpus.size());
  for (const std::string& name : algorithms) {
    const Communicators group = make_ranks(name, options.method, gpus, spin, collectives);
    for (const std::size_t count : counts) {
      const auto figures = [&](bool in_place) {
        AllReduceFigures measured;
        time_all_reduce(
            group.ranks, gpus, std::span(&count, 1),
            {.in_place = in_place, .spin = spin, .timeout_seconds = kBenchTimeoutSeconds},
            [&](std::size_t, const AllReduceTiming& timing) { measured = figures_of(timing, count, 2 * (n - 1) / n); });
        return measured;
      };
      const AllReduceFigures out_of_place = figures(false);
      report.add(name, count, figures(true), out_of_place);
    }
  }
  print_busbw_of_ranks(out, gpus.size());
  report.finish(!options.counts.empty(), options.json);
  return report.results();
}

std::vector<AllReduceResult> bench_replicas_on_gpu(const AllReduceBenchOptions& options, Device& gpu, int replicas,
                                                   std::FILE* out, const GpuCollectives& collectives) {
  const std::vector<std::size_t> counts = counts_of(options);
  algorithms_of(options, {"one_pass"}, out, [&](const std::string& name) {
    return name == "one_pass" ? "" : fmt::format("it adds across GPUs, and all replicas are on {}", gpu.id().text());
  });
  fmt::print(out, "# sums float elements of {} replicas on {} in one pass\n", replicas, gpu.id().text());
  print_checked(out);
  AllReduceReport report(out, true);
  const double passes = replicas + 1;
  for (const std::size_t count : counts) {
    const auto figures = [&](bool in_place) {
      return figures_of(time_replica_sum(gpu, replicas, count, collectives.sum, in_place), count, passes);
    };
    const AllReduceFigures out_of_place = figures(false);
    report.add("one_pass", count, figures(true), out_of_place);
  }
  fmt::print(out, "# algbw = size / time; busbw = algbw x (n+1), n = {}: n times the size is read and once written,\n",
             replicas);
  fmt::print(out,
             "# so busbw compares with the speed of the GPU's memory, or of its cache where all sizes fit in there\n");
  report.finish(!options.counts.empty(), options.json);
  return report.results();
}

}  // namespace mirrortrain
