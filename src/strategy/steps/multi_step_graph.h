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
class MultiStepGraph {
 public:
  static constexpr std::size_t kSteps = 16;
  /// A step of more kernels keeps its device busy for longer than the host takes to enqueue it, and what is recorded
  /// takes memory.
  static constexpr std::size_t kMostKernels = 256;

  explicit MultiStepGraph(Lane& lane) : lane_(lane) {}

  /// A step whose inputs are filled, in the slot after the last one's, waits for others.
  void defer() { ++deferred_; }
  bool has_deferred() const { return deferred_ > 0; }
  /// Enqueues the steps that wait if they are kSteps; `end_slot` is behind the last one's slot, a multiple of kSteps
  /// then. `run_fixed` enqueues the fixed actions of one of them. Returns how many are left for the caller to enqueue
  /// one by one; none waits any more.
  std::size_t enqueue(const StepKey& key, std::size_t end_slot, const std::function<void()>& run_fixed);
  /// Whether steps could be captured together so far; else, after a warning, they never are.
  bool works() const { return works_; }

 private:
  void enqueue_together(const StepKey& key, std::size_t first_slot, const std::function<void()>& run_fixed);

  Lane& lane_;
  std::size_t deferred_ = 0;
  bool works_ = true;
  std::map<std::pair<StepKey, std::size_t>, std::unique_ptr<Recording>> recordings_;
};

}  // namespace mirrortrain
