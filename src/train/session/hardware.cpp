#include "train/session/hardware.h"

#include "collective/nccl/nccl_communicator.h"
#include "collective/peer/peer_group.h"
#include "device/cuda/gpus.h"
#include "kernels/cpu/backend.h"
#include "kernels/cuda/backend.h"

namespace mirrortrain {
namespace {

std::shared_ptr<const Backend> backend_for(const Topology& topology, const TrainingOptions& training) {
  if (!topology.on_gpus()) return {std::shared_ptr<void>(), &cpu::backend()};
  cuda::MathOptions math;
  math.tf32 = training.tf32;
  math.autotune = training.autotune;
  return cuda::make_backend(math);
}

RunCommunicators communicators_for(const Topology& topology, const StrategyOptions& options,
                                   const ReductionChoice& choice, const Backend& backend,
                                   std::span<Device* const> devices) {
  std::vector<int> gpus;
  for (const LanePlace& lane : topology.lanes) gpus.push_back(lane.device.index);
  const double timeout = options.communication.timeout_seconds;
  if (!choice.stages) return {owned(make_nccl_communicators(gpus, timeout))};
  cuda::enable_peer_access(gpus);
  const auto group = std::make_shared<PeerGroup>(*choice.stages, devices, backend.step_kernels(),
                                                 PeerGroupOptions{topology.cores_of_their_own, timeout});
  return {{group, group->ranks()}};
}

}  // namespace

Hardware this_hardware() { return {this_machine(), {}, backend_for, communicators_for, why_no_nccl}; }

}  // namespace mirrortrain
