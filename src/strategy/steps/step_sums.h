#pragma once

#include <span>

#include "device/device.h"
#include "kernels/row_kernels.h"

namespace mirrortrain {

/// What a lane's replicas found in a step: each its sums of loss and metrics, and the lane the regularization. The
/// programs write to one place on the device; after each step, or several, that goes to slots of the host's. The caller
/// sees to it that no slot is written again before it was read.
class StepSums {
 public:
  /// `together`: how many steps `send_together` takes at most.
  StepSums(Device& device, int replicas, std::size_t metrics, std::size_t slots, std::size_t together);

  // On the device: a replica's loss, then its metrics.
  double* replica(int lane_replica) const { return device_.as<double>() + offset(lane_replica); }
  std::size_t replica_bytes() const { return values_ * sizeof(double); }
  double* regularization() const { return device_.as<double>() + offset(replicas_); }

  /// Copies all to a slot.
  void send(Stream& stream, std::size_t slot) const;
  /// The copy, which somebody has to do, that keeps all on the device, as the index-th step of those that
  /// `send_together` copies.
  SmallCopy keep(std::size_t index) const;
  void send_together(Stream& stream, std::size_t first_slot, std::size_t count) const;

  // On the host, once the copy is done.
  std::span<const double> replica(std::size_t slot, int lane_replica) const {
    return {slot_data(slot) + offset(lane_replica), values_};
  }
  double regularization(std::size_t slot) const { return slot_data(slot)[offset(replicas_)]; }

  std::size_t bytes() const { return device_.bytes() + together_.bytes(); }

 private:
  std::size_t offset(int lane_replica) const { return static_cast<std::size_t>(lane_replica) * values_; }
  double* slot_data(std::size_t slot) const { return staging_.as<double>() + slot * stride_; }

  int replicas_;
  std::size_t values_, stride_;  ///< numbers of a replica, of a step
  Buffer staging_, device_, together_;
};

}  // namespace mirrortrain
