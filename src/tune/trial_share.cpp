#include "tune/trial_share.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "base/error.h"

namespace mirrortrain::tune {

namespace {

/// A machine with so many cores and GPUs.
Machine machine_with(const Machine& machine, std::size_t cores, std::size_t gpus) {
  Machine other = machine;
  other.cores.resize(cores);
  std::iota(other.cores.begin(), other.cores.end(), 0);
  other.gpus = [gpus, of = machine.gpus] {
    cuda::Gpus found = of();
    found.gpus.resize(gpus);  // as many as the study began with, though this machine may have others
    return found;
  };
  return other;
}

/// Of `number`, at most `most`; 1 if that is 0.
std::size_t largest_divisor(std::size_t number, std::size_t most) {
  std::size_t divisor = std::max<std::size_t>(1, std::min(number, most));
  while (number % divisor != 0) --divisor;
  return divisor;
}

bool may_use_gpus(const StrategyOptions& strategy) {
  const auto* const listed = std::get_if<std::vector<DeviceId>>(&strategy.devices);
  return listed == nullptr || std::ranges::count(*listed, DeviceId::Kind::kCuda, &DeviceId::kind) > 0;
}

/// A trial sees the GPUs of its share alone, which count from 0.
void require_in_share(const StrategyOptions& strategy, const TrialShare& share, int trials) {
  const auto* const listed = std::get_if<std::vector<DeviceId>>(&strategy.devices);
  if (listed == nullptr || trials == 1 || share.gpus == 0) return;
  for (const DeviceId& device : *listed) {
    if (device.kind != DeviceId::Kind::kCuda || static_cast<std::size_t>(device.index) < share.gpus) continue;
    throw UsageError(fmt::format(
        "strategy.devices: {} is not among the {} GPU{} of a trial, which count from 0 in each, with search.parallel: "
        "{}; list those of one trial, or leave the key out",
        device.text(), share.gpus, share.gpus == 1 ? "" : "s", trials));
  }
}

}  // namespace

TrialShare share_of_machine(const Machine& machine, int trials, const StrategyOptions& strategy) {
  const auto parts = static_cast<std::size_t>(trials);
  const std::size_t gpus = may_use_gpus(strategy) ? machine.gpus().gpus.size() : 0;
  if (gpus > 0 && gpus < parts) {
    throw UsageError(
        fmt::format("search.parallel: {}: this machine has {} GPU{} to share among the trials; use at most as many",
                    trials, gpus, gpus == 1 ? "" : "s"));
  }
  const std::size_t cores = machine.cores.size();
  const TrialShare share = {cores, gpus, std::max<std::size_t>(1, cores / parts), gpus / parts};
  require_in_share(strategy, share, trials);
  return share;
}

void require_gpus_for(const TrialShare& share, const Machine& machine, int trials) {
  if (share.gpus == 0) return;
  const std::size_t needed = share.gpus * static_cast<std::size_t>(trials), found = machine.gpus().gpus.size();
  if (needed <= found) return;
  throw UsageError(fmt::format(
      "search.parallel: {}: a trial of this study has {} GPU{}, as when it began, so that {} are needed, and this "
      "machine has {}; {}, or begin a new study with another --run-dir",
      trials, share.gpus, share.gpus == 1 ? "" : "s", needed, found,
      found >= share.gpus ? fmt::format("use at most {}", found / share.gpus)
                          : std::string("continue it on a machine with more")));
}

std::vector<launch::MachinePart> parts_of(const Machine& machine, const TrialShare& share, int trials) {
  const std::size_t parts = static_cast<std::size_t>(trials), cores = share.cores * parts;
  std::vector<launch::MachinePart> all(parts);
  if (trials == 1) return all;
  const bool fits = cores <= machine.cores.size();
  const std::span<const int> shared = std::span(machine.cores).first(fits ? cores : 0);
  const std::vector<std::string> gpus = launch::visible_gpu_names(share.gpus * parts);
  for (int part = 0; part < trials; ++part) {
    all[static_cast<std::size_t>(part)] = launch::part_of_machine(shared, gpus, part, trials);
  }
  return all;
}

std::vector<std::string> pinned_strategy(const Configuration& values, const Machine& machine, const TrialShare& share) {
  const StrategyOptions& options = values.strategy;
  const auto topology_on = [&](std::size_t cores, std::size_t gpus) {
    return make_topology(options, values.data.global_batch_size, machine_with(machine, cores, gpus));
  };
  Topology topology = topology_on(share.all_cores, share.all_gpus);
  const bool has_places = options.mesh || options.pipeline;
  const auto threads_of = [](const Topology& of) { return static_cast<std::size_t>(of.lanes.front().threads); };
  const bool fits = !has_places && (topology.on_gpus() || threads_of(topology) <= share.cores);
  if (!fits) topology = topology_on(share.cores, share.gpus);
  const bool is_listed = !std::holds_alternative<AllDevices>(options.devices);
  std::vector<std::string> settings;
  if (!(is_listed && (topology.on_gpus() || has_places))) {
    const std::size_t most = topology.on_gpus() ? share.gpus : share.cores / threads_of(topology);
    const std::size_t devices = fits ? largest_divisor(topology.lanes.size(), most) : topology.lanes.size();
    std::vector<std::string> names;
    for (std::size_t i = 0; i < devices; ++i) names.push_back(topology.lanes[i].device.text());
    settings.push_back(fmt::format("strategy.devices=[{}]", fmt::join(names, ", ")));
    const int replicas = topology.mesh.replicas();
    if (!has_places && static_cast<std::size_t>(replicas) != devices) {
      settings.push_back(fmt::format("strategy.replicas={}", replicas));
    }
  }
  if (!topology.on_gpus()) settings.push_back(fmt::format("strategy.threads_per_replica={}", threads_of(topology)));
  return settings;
}

}  // namespace mirrortrain::tune
