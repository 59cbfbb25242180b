#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "collective/communicator.h"
#include "strategy/step_spec.h"
#include "strategy/steps/lane.h"

namespace mirrortrain {

/// The steps whose sums nobody has taken. Each has a slot, in which the lanes leave what their replicas found.
class StepsInFlight {
 public:
  /// `loss`, `metrics`: numbers that they come of in a replica's step (Model::loss_sums, metric_sums); `capacity`: how
  /// many steps may wait to be taken; `replicas`: of the run.
  StepsInFlight(std::size_t loss, std::size_t metrics, std::size_t capacity, int replicas);

  std::size_t capacity() const { return sums_.size(); }
  std::size_t size() const { return steps_.size(); }
  bool is_full() const { return size() == capacity(); }

  /// A step of `examples` begins; returns its slot. `regularization`: where it is not what the step finds. Throws Error
  /// where no slot is left.
  std::size_t begin(std::int64_t examples, std::optional<double> regularization = std::nullopt);

  /// The last step counts for nothing: its sums are those of no examples.
  void skip_last() { steps_.back().examples = 0; }

  /// The sums of all steps, which are done, in order, valid until the next `begin`. `replicas`: of this process; none
  /// where there is no model. What the run's replicas found is added up in their order, whichever lanes and workers
  /// they are on. `workers`: null for one worker.
  std::span<const StepSums> take(std::span<const LaneReplica> replicas, Communicator* workers);

 private:
  struct Step {
    std::int64_t examples = 0;
    std::optional<double> regularization;
  };
  /// What a step's replicas have beside the sums of loss and metrics.
  struct Rest {
    double regularization = 0;
    double counted = 0;  ///< examples' worth of what a mask leaves, by which the loss is divided
  };
  /// Of a replica in a step: the regularization, then what its loss and its metrics come of.
  std::size_t values() const { return 1 + loss_ + sums_[0].metrics.size(); }
  void read(std::size_t slot, std::span<const LaneReplica> replicas, std::span<double> numbers) const;
  void add(std::span<const double> numbers, StepSums& sums, Rest& rest) const;

  std::size_t loss_;
  std::vector<Step> steps_;
  std::vector<StepSums> sums_;   ///< by slot
  std::vector<double> numbers_;  ///< by worker, slot and replica of the worker
};

}  // namespace mirrortrain
