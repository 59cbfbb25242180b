#pragma once

#include <cstdint>
#include <span>

#include "device/device.h"
#include "kernels/kernel.h"
#include "kernels/row_kernels.h"
#include "kernels/scalar/update_group.h"

namespace mirrortrain {

/// What the host tells a lane's device about a step: numbers for each of its replicas and for the update, and where the
/// device picks the examples itself, their rows. The device has one place for it, so that kernels can be bound to it;
/// the host has a slot for each step that may be on its way. The caller sees to it that no slot is filled again before
/// its step is done.
class StepInputs {
 public:
  /// `most_rows`: of the lane's replicas in a step, together; 0 where the host picks the examples. `together`: how many
  /// steps `send_together` takes at most.
  StepInputs(Device& device, int replicas, std::int64_t most_rows, std::size_t slots, std::size_t together);

  /// On the host.
  struct Slot {
    std::span<StepParams> replicas;
    std::span<StepParams> update;  ///< one for what replicas share, then one for each
    std::span<std::int64_t> rows;
  };
  Slot slot(std::size_t index) const;

  /// Copies a slot to the device, with its first `rows` rows.
  void send(Stream& stream, std::size_t slot, std::int64_t rows) const;
  /// Copies `count` slots to the device, which then has to `select` one.
  void send_together(Stream& stream, std::size_t first_slot, std::size_t count) const;
  /// From here on `rows` are those of the index-th slot that was sent together. The copy, which somebody has to do,
  /// puts the slot's numbers where kernels read.
  SmallCopy select(std::size_t index);
  /// From here on `rows` are again those that were sent alone.
  void select_none() { selected_ = device_.data(); }

  // On the device.
  const StepParams* replica(int lane_replica) const { return device_.as<StepParams>() + lane_replica; }
  StepParams* update() const { return part<StepParams>(device_.data(), update_offset_); }
  const std::int64_t* rows() const { return part<std::int64_t>(selected_, rows_offset_); }

  std::size_t bytes() const { return device_.bytes() + together_.bytes(); }

 private:
  template <class T>
  static T* part(std::byte* from, std::size_t offset) {
    return reinterpret_cast<T*>(from + offset);
  }

  std::size_t replicas_, update_offset_, rows_offset_, most_rows_, stride_;
  Buffer staging_, device_, together_;
  std::byte* selected_;  ///< whose rows are read
};

}  // namespace mirrortrain
