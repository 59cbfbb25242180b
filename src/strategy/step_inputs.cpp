#include "strategy/step_inputs.h"

namespace mirrortrain {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

StepInputs::StepInputs(Device& device, int replicas, std::int64_t most_rows, int slots)
    : replicas_(static_cast<std::size_t>(replicas)),
      update_offset_(aligned(replicas_ * sizeof(StepScalars))),
      rows_offset_(update_offset_ + aligned((1 + replicas_) * sizeof(scalar::UpdateScalars))),
      most_rows_(static_cast<std::size_t>(most_rows)),
      stride_(rows_offset_ + aligned(most_rows_ * sizeof(std::int64_t))),
      slots_(slots),
      staging_(device.allocate_host(stride_ * static_cast<std::size_t>(slots))),
      device_(device.allocate(stride_)) {}

StepInputs::Slot StepInputs::next() {
  slot_ = (slot_ + 1) % slots_;
  std::byte* const data = slot_data();
  return {{part<StepScalars>(data, 0), replicas_},
          {part<scalar::UpdateScalars>(data, update_offset_), 1 + replicas_},
          {part<std::int64_t>(data, rows_offset_), most_rows_}};
}

void StepInputs::enqueue(Stream& stream, std::int64_t rows) {
  stream.copy(device_.data(), slot_data(), rows_offset_ + static_cast<std::size_t>(rows) * sizeof(std::int64_t));
}

}  // namespace mirrortrain
