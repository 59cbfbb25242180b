#include "train/session/hardware.h"

#include <spdlog/spdlog.h>

#include "collective/nccl/nccl_communicator.h"
#include "collective/peer/peer_group.h"
#include "device/cuda/gpus.h"
#include "kernels/cpu/backend.h"
#include "kernels/cuda/backend.h"
#include "strategy/reduction/memory_groups.h"

namespace mirrortrain {
namespace {

std::shared_ptr<const Backend> backend_for(const Topology& topology, const TrainingOptions& training) {
  if (!topology.on_gpus()) return {std::shared_ptr<void>(), &cpu::backend()};
  cuda::MathOptions math;
  math.tf32 = training.tf32;
  const bool is_divided = topology.memories_of_replica() > 1;  // ignored_by_devices says why
  math.autotune = training.autotune && !is_divided;
  math.deterministic = training.deterministic || is_divided;
  math.notice = [](const std::string& text) { spdlog::info(text); };
  return cuda::make_backend(math);
}

RunCommunicators communicators_for(const Topology& topology, const StrategyOptions& options,
                                   const ReductionChoice& choice, const Backend& backend,
                                   std::span<Device* const> devices) {
  std::vector<int> gpus;
  for (const LanePlace& lane : topology.lanes) gpus.push_back(lane.device.index);
  const double timeout = options.communication.timeout_seconds;
  if (choice.stages || choice.stages_in_row) cuda::enable_peer_access(gpus);
  const auto along = [&](ops::Axis axis, const std::optional<StagedReduction>& stages) {
    return communicators_along(axis, topology, [&](const MemoryGroup& of) -> Communicators {
      std::vector<int> own;
      std::vector<Device*> own_devices;
      for (const std::size_t number : of.here) {
        own.push_back(gpus[number]);
        own_devices.push_back(devices[number]);
      }
      if (!stages) return owned(make_nccl_communicators(own, timeout));
      const auto group = std::make_shared<PeerGroup>(*stages, own_devices, backend.step_kernels(),
                                                     PeerGroupOptions{topology.cores_of_their_own, timeout});
      return {group, group->ranks()};
    });
  };
  return {along(ops::Axis::kData, choice.stages), along(ops::Axis::kModel, choice.stages_in_row)};
}

}  // namespace

Hardware this_hardware() { return {this_machine(), {}, backend_for, communicators_for, why_no_nccl}; }

}  // namespace mirrortrain
