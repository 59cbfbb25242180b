#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/cuda/gpus.h"
#include "device/device.h"
#include "strategy/strategy_options.h"

namespace mirrortrain {

/// What there is to place replicas on.
struct Machine {
  std::vector<int> cores;            ///< that this process may use
  std::function<cuda::Gpus()> gpus;  ///< asked only where GPUs matter: a driver takes its time to answer
};

/// The one that this process runs on.
Machine this_machine();

/// One thread that drives one device and runs the replicas dealt to it.
struct LanePlacement {
  DeviceId device;
  int threads = 1;
  std::vector<int> cores;     ///< one per thread, or none: not pinned
  std::vector<int> replicas;  ///< ascending
};

struct Placement {
  std::vector<LanePlacement> lanes;  ///< all on CPUs or all on GPUs
  int replicas = 1;
  bool cores_of_their_own = true;  ///< no two lanes share a core
  std::vector<std::string> notes;  ///< for the log: what was chosen and why

  bool on_gpus() const { return lanes.front().device.kind == DeviceId::Kind::kCuda; }
};

/// Deals replicas to devices. The threads of a replica follow from the number of replicas and the machine's cores
/// alone, not from the number of devices, since the same replicas must give the same bits on any number of devices.
/// `options` are what their section accepts. Throws UsageError for a device that is not there and for a number of
/// replicas that the devices do not divide.
Placement place_replicas(const StrategyOptions& options, std::int64_t global_batch, const Machine& machine);

/// The number of replicas that place_replicas would make. Throws UsageError where the devices do not divide it.
int count_replicas(const StrategyOptions& options, std::int64_t global_batch, const Machine& machine);

}  // namespace mirrortrain
