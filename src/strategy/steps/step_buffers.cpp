#include "strategy/steps/step_buffers.h"

namespace mirrortrain {
namespace {

std::byte* bytes_of(double* numbers) { return reinterpret_cast<std::byte*>(numbers); }

}  // namespace

StepBuffers::StepBuffers(Device& device, int replicas, std::size_t sums, std::int64_t most_rows, std::size_t slots,
                         std::size_t together)
    : replicas_(static_cast<std::size_t>(replicas)),
      values_(sums),
      most_rows_(static_cast<std::size_t>(most_rows)),
      rows_offset_(whole_lines((1 + replicas_) * sizeof(StepParams))),
      stride_(rows_offset_ + whole_lines(most_rows_ * sizeof(std::int64_t))),
      sums_stride_((replicas_ * values_ + 1 + 7) / 8 * 8),
      host_inputs_(device.allocate_host(stride_ * slots)),
      device_inputs_(device.allocate(stride_)),
      inputs_together_(device.allocate(stride_ * together)),
      host_sums_(device.allocate_host(sums_stride_ * slots * sizeof(double))),
      device_sums_(device.allocate(sums_stride_ * sizeof(double))),
      sums_together_(device.allocate(sums_stride_ * together * sizeof(double))),
      selected_(device_inputs_.data()) {}

StepBuffers::Inputs StepBuffers::inputs(std::size_t slot) const {
  std::byte* const data = host_inputs_.data() + slot * stride_;
  return {{reinterpret_cast<StepParams*>(data), 1 + replicas_},
          {reinterpret_cast<std::int64_t*>(data + rows_offset_), most_rows_}};
}

std::span<const double> StepBuffers::sums(std::size_t slot, int lane_replica) const {
  return {host_sums(slot) + offset(lane_replica), values_};
}

void StepBuffers::send_inputs(Stream& stream, std::size_t slot, std::int64_t rows) const {
  stream.copy(device_inputs_.data(), host_inputs_.data() + slot * stride_,
              rows_offset_ + static_cast<std::size_t>(rows) * sizeof(std::int64_t));
}

void StepBuffers::send_sums(Stream& stream, std::size_t slot) const {
  stream.copy(bytes_of(host_sums(slot)), device_sums_.data(), device_sums_.bytes());
}

void StepBuffers::send_inputs_together(Stream& stream, std::size_t first_slot, std::size_t count) const {
  stream.copy(inputs_together_.data(), host_inputs_.data() + first_slot * stride_, count * stride_);
}

SmallCopy StepBuffers::select(std::size_t index) {
  selected_ = inputs_together_.data() + index * stride_;
  return {selected_, device_inputs_.data(), rows_offset_};
}

SmallCopy StepBuffers::keep(std::size_t index) const {
  const std::size_t bytes = sums_stride_ * sizeof(double);
  return {device_sums_.data(), sums_together_.data() + index * bytes, bytes};
}

void StepBuffers::send_sums_together(Stream& stream, std::size_t first_slot, std::size_t count) const {
  stream.copy(bytes_of(host_sums(first_slot)), sums_together_.data(), count * sums_stride_ * sizeof(double));
}

std::size_t StepBuffers::bytes() const {
  return device_inputs_.bytes() + inputs_together_.bytes() + device_sums_.bytes() + sums_together_.bytes();
}

}  // namespace mirrortrain
