#include "strategy/step_sums.h"

namespace mirrortrain {

StepSums::StepSums(Device& device, int replicas, std::size_t metrics, int slots)
    : replicas_(replicas),
      values_(1 + metrics),
      stride_((static_cast<std::size_t>(replicas) * values_ + 1 + 7) / 8 * 8),
      staging_(device.allocate_host(stride_ * static_cast<std::size_t>(slots) * sizeof(double))),
      device_(device.allocate(stride_ * sizeof(double))) {}

void StepSums::enqueue(Stream& stream) {
  stream.copy(reinterpret_cast<std::byte*>(slot_data(next_++)), device_.data(), stride_ * sizeof(double));
}

}  // namespace mirrortrain
