#include "bench/all_reduce_bench.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>

#include "base/error.h"
#include "base/usable_cores.h"
#include "bench/reduction_timer.h"
#include "collective/peer/peer_group.h"
#include "config/scalar.h"
#include "device/cpu/cpu_device.h"
#include "strategy/reduction/run_reduction.h"

namespace mirrortrain {
namespace {

constexpr double kTimeoutSeconds = 60;
constexpr const char* kOnePass = "one_pass";
constexpr const char* kNccl = "nccl";

std::vector<std::string> all_algorithms() {
  std::vector<std::string> names = {kNccl, kOnePass};
  for (const CrossDeviceOps operation : staged_operations()) names.emplace_back(config::name_of(operation));
  return names;
}

/// The devices of the measured reductions.
struct Place {
  std::span<Device* const> devices;
  int replicas;  ///< on each device

  bool on_gpus() const { return devices[0]->id().kind == DeviceId::Kind::kCuda; }
  bool across_gpus() const { return on_gpus() && replicas == 1; }
};

/// Why an algorithm does not support these devices; empty if it does.
std::string why_not(const std::string& algorithm, const Place& place, const BenchHardware& hardware) {
  if (algorithm == kNccl && !place.on_gpus()) return "it needs GPUs";
  if (place.across_gpus()) {
    if (algorithm == kOnePass) return "it adds in one memory";
    return algorithm == kNccl ? hardware.why_no_nccl() : "";
  }
  if (place.on_gpus() && algorithm != kOnePass) {
    return fmt::format("it adds across GPUs, and all replicas are on {}", place.devices[0]->id().text());
  }
  return "";
}

/// The requested algorithms in order, else all. Those that cannot be measured are skipped, which is reported on `out`.
std::vector<std::string> algorithms_of(const AllReduceBenchOptions& options, const Place& place,
                                       const BenchHardware& hardware, std::FILE* out) {
  const std::vector<std::string> all = all_algorithms();
  for (const std::string& name : options.algorithms) {
    if (std::ranges::count(all, name) > 0) continue;
    throw UsageError(fmt::format("--algorithms: unknown algorithm '{}'{}; there are {}", name,
                                 config::suggestion(name, all), fmt::join(all, ", ")));
  }
  std::vector<std::string> names = options.algorithms.empty() ? all : options.algorithms;
  std::erase_if(names, [&](const std::string& name) {
    const std::string reason = why_not(name, place, hardware);
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

/// The reducers of one algorithm and their dependencies.
struct Algorithm {
  Communicators communicators;
  std::deque<DomainLink> links;
  std::vector<TimedDomain> domains;
};

CrossDeviceOps operation_named(const std::string& name) { return config::value_named<CrossDeviceOps>(name).value(); }

Communicators connect_gpus(const std::string& name, AggregationMethod method, const Place& place,
                           const BenchHardware& hardware, bool spin) {
  if (name == kNccl) {
    std::vector<int> gpus;
    for (const Device* gpu : place.devices) gpus.push_back(gpu->id().index);
    return hardware.make_nccl(gpus, kTimeoutSeconds);
  }
  const StagedReduction reduction(operation_named(name), static_cast<int>(place.devices.size()), method);
  const auto peers = std::make_shared<PeerGroup>(reduction, place.devices, hardware.kernels,
                                                 PeerGroupOptions{.spin = spin, .timeout_seconds = kTimeoutSeconds});
  return {peers, peers->ranks()};
}

void set_up(Algorithm& algorithm, const std::string& name, AggregationMethod method, const Place& place,
            const BenchHardware& hardware, bool spin) {
  if (!place.across_gpus()) {
    TimedDomain& domain = algorithm.domains.emplace_back();
    domain.devices.assign(place.devices.begin(), place.devices.end());
    domain.replicas = place.replicas * static_cast<int>(place.devices.size());
    domain.sums_everywhere = name != kOnePass;
    ReductionChoice choice{.body = ReductionChoice::Body::kOnePass};
    if (name != kOnePass) {
      choice.body = ReductionChoice::Body::kStaged;
      choice.stages = StagedReduction(operation_named(name), domain.replicas, method);
    }
    domain.reducer =
        make_reducer(choice, {*domain.devices[0], hardware.kernels, static_cast<int>(domain.devices.size())});
    return;
  }
  algorithm.communicators = connect_gpus(name, method, place, hardware, spin);
  for (std::size_t i = 0; i < place.devices.size(); ++i) {
    Device& gpu = *place.devices[i];
    Communicator& rank = *algorithm.communicators.ranks[i];
    const DomainLink& link = algorithm.links.emplace_back(gpu, hardware.kernels, rank);
    TimedDomain& domain = algorithm.domains.emplace_back();
    domain.devices = {&gpu};
    domain.communicator = &rank;
    domain.reducer = make_reducer({.body = ReductionChoice::Body::kCollective}, {gpu, hardware.kernels, 1, &link});
  }
}

}  // namespace

std::vector<AllReduceResult> bench_all_reduce(const AllReduceBenchOptions& options, std::span<Device* const> devices,
                                              int replicas, const BenchHardware& hardware, std::FILE* out) {
  const Place place{devices, replicas};
  const std::vector<std::size_t> counts = counts_of(options);
  const std::vector<std::string> algorithms = algorithms_of(options, place, hardware, out);
  const bool in_one_gpu = place.on_gpus() && !place.across_gpus();
  print_setup(out, devices, replicas);
  AllReduceReport report(out);
  const bool spin = devices.size() <= usable_cores().size();
  const double n = static_cast<double>(in_one_gpu ? static_cast<std::size_t>(replicas) : devices.size());
  const double busbw_factor = in_one_gpu ? n + 1 : 2 * (n - 1) / n;
  for (const std::string& name : algorithms) {
    Algorithm algorithm;
    set_up(algorithm, name, options.method, place, hardware, spin);
    time_reduction(algorithm.domains, counts, spin, kTimeoutSeconds,
                   [&](std::size_t index, const ReductionTiming& timing) {
                     report.add(name, counts[index], timing.seconds, timing.wrong, busbw_factor);
                   });
  }
  print_busbw(out, static_cast<int>(n), in_one_gpu);
  report.finish(!options.counts.empty(), options.json);
  return report.results();
}

}  // namespace mirrortrain
