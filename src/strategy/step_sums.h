#pragma once

#include <span>

#include "device/device.h"

namespace mirrortrain {

/// What a lane's replicas found in a step: each its sums of loss and metrics, and the lane the regularization. The
/// programs write to one place on the device; after each step that goes to a slot of the host's, which reads several at
/// once.
class StepSums {
 public:
  StepSums(Device& device, int replicas, std::size_t metrics, int slots);

  // On the device: a replica's loss, then its metrics.
  double* replica(int lane_replica) const { return device_.as<double>() + offset(lane_replica); }
  std::size_t replica_bytes() const { return values_ * sizeof(double); }
  double* regularization() const { return device_.as<double>() + offset(replicas_); }

  /// Copies all to the next slot. The caller sees to it that no slot is written again before it was read.
  void enqueue(Stream& stream);
  /// The slot that the next `enqueue` goes to is the first one again.
  void rewind() { next_ = 0; }

  // On the host, once the copy is done: what the n-th `enqueue` since the last `rewind` brought.
  std::span<const double> replica(int slot, int lane_replica) const {
    return {slot_data(slot) + offset(lane_replica), values_};
  }
  double regularization(int slot) const { return slot_data(slot)[offset(replicas_)]; }

  std::size_t bytes() const { return device_.bytes(); }

 private:
  std::size_t offset(int lane_replica) const { return static_cast<std::size_t>(lane_replica) * values_; }
  double* slot_data(int slot) const { return staging_.as<double>() + static_cast<std::size_t>(slot) * stride_; }

  int replicas_, next_ = 0;
  std::size_t values_, stride_;  ///< numbers of a replica, of a step
  Buffer staging_, device_;
};

}  // namespace mirrortrain
