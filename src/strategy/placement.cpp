#include "strategy/placement.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace mirrortrain {
namespace {

/// A replica with fewer examples than this spends its step waiting rather than computing.
constexpr std::int64_t kRowsWorthAReplica = 16;

/// How many CPU devices suit the cores and the batch, or the number of replicas that is asked for.
int suitable_cpu_devices(const StrategyOptions& options, std::int64_t global_batch, std::size_t cores) {
  if (options.type == StrategyType::kOneDevice) return 1;
  if (options.cpu_replicas) return static_cast<int>(*options.cpu_replicas);
  const auto core_count = static_cast<std::int64_t>(cores);
  if (!options.replicas) {
    return static_cast<int>(std::clamp<std::int64_t>(global_batch / kRowsWorthAReplica, 1, core_count));
  }
  std::int64_t devices = std::min(*options.replicas, core_count);
  while (*options.replicas % devices != 0) --devices;
  return static_cast<int>(devices);
}

std::vector<DeviceId> chosen_devices(const StrategyOptions& options, std::int64_t global_batch, std::size_t cores,
                                     Placement& placement) {
  if (const auto* listed = std::get_if<std::vector<DeviceId>>(&options.devices)) return *listed;
  const int count = suitable_cpu_devices(options, global_batch, cores);
  if (options.type == StrategyType::kMirrored) {
    placement.notes.push_back(fmt::format("no GPU is used by this build: {} CPU device{} on {} core{}", count,
                                          count == 1 ? "" : "s", cores, cores == 1 ? "" : "s"));
  }
  std::vector<DeviceId> devices;
  for (int i = 0; i < count; ++i) devices.push_back({DeviceId::Kind::kCpu, i});
  return devices;
}

int number_of_replicas(const StrategyOptions& options, std::size_t devices) {
  const auto listed = static_cast<int>(devices);
  if (!options.replicas) return listed;
  const auto replicas = static_cast<int>(*options.replicas);
  if (replicas % listed != 0) {
    throw UsageError(
        fmt::format("strategy.replicas: expected a multiple of the {} devices, found {}", listed, replicas));
  }
  return replicas;
}

LanePlacement& lane_of(std::vector<LanePlacement>& lanes, const DeviceId& device) {
  const auto found =
      std::find_if(lanes.begin(), lanes.end(), [&](const LanePlacement& lane) { return lane.device == device; });
  if (found != lanes.end()) return *found;
  lanes.push_back({device, 1, {}, {}});
  return lanes.back();
}

}  // namespace

int count_replicas(const StrategyOptions& options, std::int64_t global_batch, const std::vector<int>& cores) {
  Placement unused;
  return number_of_replicas(options, chosen_devices(options, global_batch, cores.size(), unused).size());
}

Placement place_replicas(const StrategyOptions& options, std::int64_t global_batch, const std::vector<int>& cores) {
  Placement placement;
  const std::vector<DeviceId> devices = chosen_devices(options, global_batch, cores.size(), placement);
  for (const DeviceId& device : devices) {
    if (device.kind == DeviceId::Kind::kCuda) {
      throw UsageError(
          fmt::format("strategy.devices: {} is not there: this build has no CUDA support; use cpu:0, cpu:1, ... "
                      "or `devices: all`",
                      device.text()));
    }
  }
  if (options.cross_device_ops == CrossDeviceOps::kNccl) {
    throw UsageError(fmt::format("strategy.cross_device_ops: {}", kNcclNeedsGpus));
  }
  placement.replicas = number_of_replicas(options, devices.size());

  const int each = placement.replicas / static_cast<int>(devices.size());
  for (int replica = 0; replica < placement.replicas; ++replica) {
    lane_of(placement.lanes, devices[static_cast<std::size_t>(replica / each)]).replicas.push_back(replica);
  }

  const auto core_count = static_cast<int>(cores.size());
  const int threads =
      static_cast<int>(options.threads_per_replica.value_or(std::max(1, core_count / placement.replicas)));
  const int wanted = threads * static_cast<int>(placement.lanes.size());
  placement.cores_of_their_own = wanted <= core_count;
  // Pinned only where the run takes the whole machine: two runs side by side must not end up on the same cores.
  const bool pin = wanted == core_count;
  int next = 0;
  for (LanePlacement& lane : placement.lanes) {
    lane.threads = threads;
    for (int i = 0; pin && i < threads; ++i) lane.cores.push_back(cores[static_cast<std::size_t>(next++)]);
  }
  return placement;
}

}  // namespace mirrortrain
