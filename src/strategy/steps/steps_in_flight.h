#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "collective/communicator.h"
#include "strategy/reduction/waited_for.h"
#include "strategy/step_spec.h"
#include "strategy/steps/lane.h"

namespace mirrortrain {

/// Maximum number of steps in flight on a device that runs asynchronously, or whose sums wait for other workers: large
/// enough that waiting for them once per this many steps has no measurable cost.
inline constexpr std::size_t kStepsAhead = 64;

/// The steps whose sums have not been taken. Each has a slot, to which the lanes write their replicas' results.
class StepsInFlight {
 public:
  /// `capacity`: how many steps may wait to be taken; `replicas`: of the run. The model must outlive it.
  StepsInFlight(const Model& model, std::size_t capacity, int replicas);
  /// Whether each memory has a part of the sum of regularization; else the run's first place has it.
  void set_regularization_in_parts(bool in_parts) { regularization_in_parts_ = in_parts; }

  std::size_t capacity() const { return sums_.size(); }
  std::size_t size() const { return steps_.size(); }
  bool is_full() const { return size() == capacity(); }

  /// Begins a step of `examples` examples; returns its slot. `regularization`: replaces the step's own. Throws Error if
  /// no slot is left.
  std::size_t begin(std::int64_t examples, std::optional<double> regularization = std::nullopt);

  /// Makes the last step count for nothing: its sums are those of no examples.
  void skip_last() { steps_.back().examples = 0; }
  /// This worker's times in the last step, which go to the others with its sums.
  void set_times_of_last(const StepTimes& times) { steps_.back().times = times; }

  /// The sums of all steps, which must be done, in order, valid until the next `begin`. `replicas`: of this process;
  /// none if there is no model. The results of the run's replicas are added in the replicas' order, whichever lanes and
  /// workers they are on. `workers`: null for one worker.
  std::span<const StepSums> take(std::span<const LaneReplica> replicas, Communicator* workers);
  /// How long the workers waited for each other in the steps taken since the last call.
  WaitedFor take_waited_for() { return std::exchange(waited_for_, {}); }

 private:
  struct Step {
    std::int64_t examples = 0;
    std::optional<double> regularization;
    StepTimes times{};
  };
  /// Number of values of a worker in a step, in addition to its replicas'.
  static constexpr std::size_t kTimes = 2;
  /// Values of a step's replicas in addition to the sums of loss and metrics.
  struct Rest {
    double regularization = 0, penalty = 0;
    std::vector<double> counted{};  ///< of outputs with a mask: the unmasked amount, in examples, that divides the loss
  };
  /// Number of values of a replica in a step: the regularization, then those for the losses and metrics.
  std::size_t values() const { return 1 + loss_sums_ + sums_[0].metrics.size(); }
  void read(std::size_t slot, std::span<const LaneReplica> replicas, std::span<double> numbers) const;
  void add(std::span<const double> numbers, StepSums& sums);
  /// Makes losses of the sums of all replicas.
  void finish(StepSums& sums) const;

  const Model& model_;
  std::size_t loss_sums_;
  bool regularization_in_parts_ = false;
  Rest rest_;  ///< of the step that is being added up
  std::vector<Step> steps_;
  std::vector<StepSums> sums_;    ///< by slot
  std::vector<double> numbers_;   ///< by worker, slot and replica of the worker, followed by the worker's times
  std::vector<StepTimes> times_;  ///< by worker, of a step
  WaitedFor waited_for_;
};

}  // namespace mirrortrain
