#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "strategy/step_spec.h"
#include "strategy/steps/lane.h"

namespace mirrortrain {

/// Several training steps of one kind as one graph: their inputs are sent to the device together, each step's fixed
/// actions use its own, and their sums are returned together. Captured once for each kind of step and position in the
/// ring of slots; then the host makes one launch for all these steps.
class MultiStepGraph {
 public:
  static constexpr std::size_t kSteps = 16;
  /// A step of more kernels keeps its device busy for longer than the host needs to enqueue it, and captured graphs use
  /// memory.
  static constexpr std::size_t kMostKernels = 256;

  explicit MultiStepGraph(Lane& lane) : lane_(lane) {}

  /// Defers a step whose inputs are filled, in the slot after the last one's.
  void defer() { ++deferred_; }
  bool has_deferred() const { return deferred_ > 0; }
  /// Enqueues the deferred steps if they are kSteps; `end_slot` is one past the last one's slot, then a multiple of
  /// kSteps. `run_fixed` enqueues the fixed actions of one of them. Returns how many are left for the caller to enqueue
  /// one by one; none are deferred any more.
  std::size_t enqueue(const StepKey& key, std::size_t end_slot, const std::function<void()>& run_fixed);
  /// Whether capturing steps together has worked so far; after a failure and its warning, it is not tried again.
  bool works() const { return works_; }

 private:
  void enqueue_together(const StepKey& key, std::size_t first_slot, const std::function<void()>& run_fixed);

  Lane& lane_;
  std::size_t deferred_ = 0;
  bool works_ = true;
  std::map<std::pair<StepKey, std::size_t>, std::unique_ptr<Recording>> recordings_;
};

}  // namespace mirrortrain
