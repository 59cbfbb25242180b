#include "train/hardware.h"

#include <spdlog/spdlog.h>

#include "collective/nccl/nccl_communicator.h"
#include "collective/peer/peer_group.h"
#include "device/cuda/gpus.h"
#include "kernels/cpu/backend.h"
#include "kernels/cuda/backend.h"
#include "strategy/gradients/cross_device.h"

namespace mirrortrain {
namespace {

std::shared_ptr<const Backend> backend_for(const Placement& placement, const TrainingOptions& training) {
  if (!placement.on_gpus()) return {std::shared_ptr<void>(), &cpu::backend()};
  cuda::MathOptions math;
  math.tf32 = training.tf32;
  math.autotune = training.autotune;
  return cuda::make_backend(math);
}

Communicators communicators_for(const Placement& placement, const StrategyOptions& options, AggregationMethod method,
                                std::span<Device* const> devices) {
  std::vector<int> gpus;
  for (const LanePlacement& lane : placement.lanes) gpus.push_back(lane.device.index);
  const double timeout = options.communication.timeout_seconds;
  if (options.cross_device_ops == CrossDeviceOps::kNccl) return owned(make_nccl_communicators(gpus, timeout));
  cuda::enable_peer_access(gpus);
  const auto group = std::make_shared<PeerGroup>(reduction_across(options, placement, method), devices, sum_on_gpu,
                                                 PeerGroupOptions{placement.cores_of_their_own, timeout});
  return {group, group->ranks()};
}

}  // namespace

Hardware this_hardware() { return {this_machine(), backend_for, communicators_for, why_no_nccl}; }

StrategyOptions usable_options(const StrategyOptions& options, const Placement& placement, const Hardware& hardware) {
  const bool across_gpus = placement.on_gpus() && placement.lanes.size() > 1;
  if (!across_gpus || options.cross_device_ops != CrossDeviceOps::kAuto) return options;
  const std::string absent = hardware.why_no_nccl();
  if (!absent.empty()) spdlog::warn("cross_device_ops: auto takes ring, by copies: {}", absent);
  StrategyOptions usable = options;
  usable.cross_device_ops = absent.empty() ? CrossDeviceOps::kNccl : CrossDeviceOps::kRing;
  return usable;
}

}  // namespace mirrortrain
