#pragma once

#include <cstdint>

#include "strategy/steps/lane_context.h"

namespace mirrortrain {

/// What a lane's replicas read in a step: the parameters of kernels and each replica's part of the global batch.
class StepInputs {
 public:
  explicit StepInputs(const LaneContext& context) : context_(context) {}

  /// Fills the step's slot on the host: for steps whose actions are enqueued later.
  void fill() const;
  /// Sends the slot to the device, filled now where it was not before.
  void send() const;
  /// Where the lane's device gathers the examples: those of all replicas one after the other, from the rows sent.
  void gather_on_device(StepKind kind) const;
  /// Where the host does: those of one replica.
  void gather(Replica& replica, StepKind kind) const;

 private:
  std::int64_t device_rows() const;

  const LaneContext& context_;
};

}  // namespace mirrortrain
