#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "strategy/step_spec.h"
#include "strategy/steps/lane.h"

namespace mirrortrain {

/// Several training steps of one kind as one piece of work: their inputs go to the device together, each step's fixed
/// actions find its own, and their sums come back together. Captured once for each kind of step and place in the ring
/// of slots; then the host says one thing for so many steps.
class StepBursts {
 public:
  static constexpr std::size_t kSteps = 16;
  /// A step of more kernels keeps its device busy for longer than the host takes to enqueue it, and what is recorded
  /// takes memory.
  static constexpr std::size_t kMostKernels = 256;

  explicit StepBursts(Lane& lane) : lane_(lane) {}

  /// Enqueues the kSteps steps whose inputs lie in the slots from `first_slot`, a multiple of kSteps, on. `run_fixed`
  /// enqueues the fixed actions of one of them. False, after a warning, where they cannot be captured: nothing is
  /// enqueued then.
  bool enqueue(const StepKey& key, std::size_t first_slot, const std::function<void()>& run_fixed);

 private:
  Lane& lane_;
  std::map<std::pair<StepKey, std::size_t>, std::unique_ptr<Recording>> recordings_;
};

}  // namespace mirrortrain
