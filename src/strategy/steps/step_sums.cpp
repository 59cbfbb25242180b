#include "strategy/steps/step_sums.h"

namespace mirrortrain {
namespace {

std::byte* bytes_of(double* numbers) { return reinterpret_cast<std::byte*>(numbers); }

}  // namespace

StepSums::StepSums(Device& device, int replicas, std::size_t metrics, std::size_t slots, std::size_t together)
    : replicas_(replicas),
      values_(1 + metrics),
      stride_((static_cast<std::size_t>(replicas) * values_ + 1 + 7) / 8 * 8),
      staging_(device.allocate_host(stride_ * slots * sizeof(double))),
      device_(device.allocate(stride_ * sizeof(double))),
      together_(device.allocate(stride_ * together * sizeof(double))) {}

void StepSums::send(Stream& stream, std::size_t slot) const {
  stream.copy(bytes_of(slot_data(slot)), device_.data(), stride_ * sizeof(double));
}

SmallCopy StepSums::keep(std::size_t index) const {
  const std::size_t bytes = stride_ * sizeof(double);
  return {device_.data(), together_.data() + index * bytes, bytes};
}

void StepSums::send_together(Stream& stream, std::size_t first_slot, std::size_t count) const {
  stream.copy(bytes_of(slot_data(first_slot)), together_.data(), count * stride_ * sizeof(double));
}

}  // namespace mirrortrain
