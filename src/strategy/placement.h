#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/device.h"
#include "strategy/strategy_options.h"

namespace mirrortrain {

/// One thread that drives one device and runs the replicas dealt to it.
struct LanePlacement {
  DeviceId device;
  int threads = 1;
  std::vector<int> cores;     ///< one per thread, or none: not pinned
  std::vector<int> replicas;  ///< ascending
};

struct Placement {
  std::vector<LanePlacement> lanes;
  int replicas = 1;
  bool cores_of_their_own = true;  ///< no two lanes share a core
  std::vector<std::string> notes;  ///< for the log: what was chosen and why
};

/// Deals replicas to devices. The threads of a replica follow from the number of replicas and the machine's cores
/// alone, not from the number of devices, since the same replicas must give the same bits on any number of devices.
/// `options` are what their section accepts. Throws UsageError for a device that is not there and for a number of
/// replicas that the devices do not divide.
Placement place_replicas(const StrategyOptions& options, std::int64_t global_batch, const std::vector<int>& cores);

/// The number of replicas that place_replicas would make. Throws UsageError where the devices do not divide it.
int count_replicas(const StrategyOptions& options, std::int64_t global_batch, const std::vector<int>& cores);

}  // namespace mirrortrain
