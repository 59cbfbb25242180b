#pragma once

#include "strategy/steps/lane_context.h"

namespace mirrortrain {

/// Whether a training step's losses and gradients are finite, in every memory domain of the run: every lane finds the
/// same.
class FiniteCheck {
 public:
  explicit FiniteCheck(LaneContext& context) : context_(context) {}

  /// Once every gradient is accumulated. Waits for the devices.
  void run();
  /// Whether the step that was checked last, or is to be skipped anyway, changes no variable.
  bool skips() const { return skips_; }

 private:
  bool is_finite_in_domain() const;

  LaneContext& context_;
  bool skips_ = false;
};

}  // namespace mirrortrain
