#include "tune/trial_share.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "base/error.h"

namespace mirrortrain::tune {

TrialShare share_of_machine(const Machine& machine, int trials) {
  const auto parts = static_cast<std::size_t>(trials);
  const std::size_t gpus = machine.gpus().gpus.size();
  if (gpus > 0 && gpus < parts) {
    throw UsageError(
        fmt::format("search.parallel: {}: this machine has {} GPU{} to share among the trials; use at most as many",
                    trials, gpus, gpus == 1 ? "" : "s"));
  }
  return {std::max<std::size_t>(1, machine.cores.size() / parts), gpus / parts};
}

std::vector<launch::MachinePart> parts_of(const Machine& machine, const TrialShare& share, int trials) {
  const std::size_t parts = static_cast<std::size_t>(trials), cores = share.cores * parts;
  std::vector<launch::MachinePart> all(parts);
  if (trials == 1) return all;
  const bool fits = cores <= machine.cores.size();
  const std::span<const int> shared = std::span(machine.cores).first(fits ? cores : 0);
  for (int part = 0; part < trials; ++part) {
    all[static_cast<std::size_t>(part)] = launch::part_of_machine(shared, share.gpus * parts, part, trials);
  }
  return all;
}

std::vector<std::string> pinned_strategy(const Configuration& values, const Machine& machine, const TrialShare& share) {
  Machine part = machine;
  part.cores.resize(share.cores);
  std::iota(part.cores.begin(), part.cores.end(), 0);
  part.gpus = [&machine, &share] {
    cuda::Gpus gpus = machine.gpus();
    gpus.gpus.resize(std::min(gpus.gpus.size(), share.gpus));
    return gpus;
  };
  const Topology topology = make_topology(values.strategy, values.data.global_batch_size, part);
  std::vector<std::string> settings;
  if (std::holds_alternative<AllDevices>(values.strategy.devices)) {
    std::vector<std::string> devices;
    for (const LanePlace& lane : topology.lanes) devices.push_back(lane.device.text());
    settings.push_back(fmt::format("strategy.devices=[{}]", fmt::join(devices, ", ")));
  }
  if (!topology.on_gpus()) {
    settings.push_back(fmt::format("strategy.threads_per_replica={}", topology.lanes.front().threads));
  }
  return settings;
}

}  // namespace mirrortrain::tune
