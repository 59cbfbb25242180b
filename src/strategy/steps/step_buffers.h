#pragma once

#include <cstdint>
#include <span>

#include "device/device.h"
#include "kernels/row_kernels.h"
#include "kernels/scalar/step_params.h"

namespace mirrortrain {

/// Bytes rounded up to whole cache lines.
constexpr std::size_t whole_lines(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

/// Transfers between the host and a lane's device in a step: parameters for kernels and, if the device gathers the
/// examples itself, their rows; returned are each replica's sums of loss and metrics, and the lane's regularization.
/// The device has one place for each, so that kernels can be bound to it; the host has a slot for each step that may be
/// in flight. The caller must not fill a slot again before its step is done and its sums are read.
class StepBuffers {
 public:
  /// `sums`: number of sums for a replica's loss and metrics. `most_rows`: of the lane's replicas in a step, in total;
  /// 0 if the host fills the examples. `together`: how many steps the device can hold at once.
  StepBuffers(Device& device, int replicas, std::size_t sums, std::int64_t most_rows, std::size_t slots,
              std::size_t together);

  // On the host:
  struct Inputs {
    std::span<StepParams> params;  ///< one for what replicas share, then one for each
    std::span<std::int64_t> rows;
  };
  Inputs inputs(std::size_t slot) const;
  /// The sums for a replica's loss, then for its metrics, once copied.
  std::span<const double> sums(std::size_t slot, int lane_replica) const;
  double regularization(std::size_t slot) const { return *regularization_in(host_sums(slot)); }

  // On the device:
  StepParams* params() const { return device_inputs_.as<StepParams>(); }
  const std::int64_t* rows() const { return reinterpret_cast<const std::int64_t*>(selected_ + rows_offset_); }
  double* sums(int lane_replica) const { return device_sums_.as<double>() + offset(lane_replica); }
  std::size_t replica_bytes() const { return values_ * sizeof(double); }
  double* regularization() const { return regularization_in(device_sums_.as<double>()); }

  /// Copies a slot's inputs to the device, with its first `rows` rows.
  void send_inputs(Stream& stream, std::size_t slot, std::int64_t rows) const;
  /// Copies the sums to a slot.
  void send_sums(Stream& stream, std::size_t slot) const;

  // Several steps at once: their inputs are sent together; then each step selects its own inputs and keeps its sums, by
  // copies that these functions return and that the caller enqueues; at the end all sums are sent together.
  void send_inputs_together(Stream& stream, std::size_t first_slot, std::size_t count) const;
  SmallCopy select(std::size_t index);
  SmallCopy keep(std::size_t index) const;
  void send_sums_together(Stream& stream, std::size_t first_slot, std::size_t count) const;
  /// Resets `rows` to those of `send_inputs`.
  void select_none() { selected_ = device_inputs_.data(); }

  std::size_t bytes() const;

 private:
  std::size_t offset(int lane_replica) const { return static_cast<std::size_t>(lane_replica) * values_; }
  double* regularization_in(double* sums) const { return sums + offset(static_cast<int>(replicas_)); }
  double* host_sums(std::size_t slot) const { return host_sums_.as<double>() + slot * sums_stride_; }

  std::size_t replicas_, values_, most_rows_;       ///< values: the number of a replica's sums
  std::size_t rows_offset_, stride_, sums_stride_;  ///< in bytes, but the last in numbers
  Buffer host_inputs_, device_inputs_, inputs_together_;
  Buffer host_sums_, device_sums_, sums_together_;
  std::byte* selected_;  ///< the step whose rows are read
};

}  // namespace mirrortrain
