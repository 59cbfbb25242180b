#include "strategy/steps/step_inputs.h"

namespace mirrortrain {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

StepInputs::StepInputs(Device& device, int replicas, std::int64_t most_rows, std::size_t slots, std::size_t together)
    : replicas_(static_cast<std::size_t>(replicas)),
      update_offset_(aligned(replicas_ * sizeof(StepParams))),
      rows_offset_(update_offset_ + aligned((1 + replicas_) * sizeof(StepParams))),
      most_rows_(static_cast<std::size_t>(most_rows)),
      stride_(rows_offset_ + aligned(most_rows_ * sizeof(std::int64_t))),
      staging_(device.allocate_host(stride_ * slots)),
      device_(device.allocate(stride_)),
      together_(device.allocate(stride_ * together)),
      selected_(device_.data()) {}

StepInputs::Slot StepInputs::slot(std::size_t index) const {
  std::byte* const data = staging_.data() + index * stride_;
  return {{part<StepParams>(data, 0), replicas_},
          {part<StepParams>(data, update_offset_), 1 + replicas_},
          {part<std::int64_t>(data, rows_offset_), most_rows_}};
}

void StepInputs::send(Stream& stream, std::size_t slot, std::int64_t rows) const {
  stream.copy(device_.data(), staging_.data() + slot * stride_,
              rows_offset_ + static_cast<std::size_t>(rows) * sizeof(std::int64_t));
}

void StepInputs::send_together(Stream& stream, std::size_t first_slot, std::size_t count) const {
  stream.copy(together_.data(), staging_.data() + first_slot * stride_, count * stride_);
}

SmallCopy StepInputs::select(std::size_t index) {
  selected_ = together_.data() + index * stride_;
  return {selected_, device_.data(), rows_offset_};
}

}  // namespace mirrortrain
