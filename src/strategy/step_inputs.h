#pragma once

#include <cstdint>
#include <span>

#include "device/device.h"
#include "kernels/kernel.h"
#include "kernels/scalar/update_group.h"

namespace mirrortrain {

/// What the host tells a lane's device about a step: numbers for each of its replicas and for the update, and where the
/// device picks the examples itself, their rows. The device has one place for it, so that kernels can be bound to it;
/// the host has a slot for each step that may be on its way.
class StepInputs {
 public:
  /// `most_rows`: of the lane's replicas in a step, together; 0 where the host picks the examples.
  StepInputs(Device& device, int replicas, std::int64_t most_rows, int slots);

  /// The next slot, to be filled before `enqueue`. The caller sees to it that no more than `slots` steps are on their
  /// way.
  struct Slot {
    std::span<StepScalars> replicas;
    std::span<scalar::UpdateScalars> update;  ///< one for what replicas share, then one for each
    std::span<std::int64_t> rows;
  };
  Slot next();
  /// Copies the slot to the device, with its first `rows` rows.
  void enqueue(Stream& stream, std::int64_t rows);

  // On the device.
  const StepScalars* replica(int lane_replica) const { return device_.as<StepScalars>() + lane_replica; }
  scalar::UpdateScalars* update() const { return part<scalar::UpdateScalars>(device_.data(), update_offset_); }
  const std::int64_t* rows() const { return part<std::int64_t>(device_.data(), rows_offset_); }

  std::size_t bytes() const { return device_.bytes(); }

 private:
  template <class T>
  static T* part(std::byte* from, std::size_t offset) {
    return reinterpret_cast<T*>(from + offset);
  }
  std::byte* slot_data() const { return staging_.data() + static_cast<std::size_t>(slot_) * stride_; }

  std::size_t replicas_, update_offset_, rows_offset_, most_rows_, stride_;
  int slots_, slot_ = -1;
  Buffer staging_, device_;
};

}  // namespace mirrortrain
