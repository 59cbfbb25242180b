#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "strategy/steps/assigned_writes.h"
#include "strategy/steps/finite_check.h"
#include "strategy/steps/lane_context.h"
#include "strategy/steps/step_inputs.h"
#include "strategy/steps/step_plan.h"

namespace mirrortrain {

/// What one lane does in each step: a list of actions for training and one for evaluation, written once. Lanes of one
/// domain meet between the parts of a step; lanes with a domain of their own enqueue theirs and wait for each other on
/// their streams, where they exchange something.
class LaneSteps {
 public:
  /// The lane is bound, and the buckets are in order. All must outlive it.
  LaneSteps(int index, Lane& lane, MemoryDomain& domain, const DomainReduction& reduction,
            const LaneSurroundings& around);
  LaneSteps(const LaneSteps&) = delete;
  LaneSteps& operator=(const LaneSteps&) = delete;

  /// Runs the list for training; `start`: when the step began.
  void train(StepPlan::Clock::time_point start, const StepKey& key);
  StepPlan& training() { return training_; }
  const StepPlan& training() const { return training_; }
  StepPlan& evaluation() { return evaluation_; }

  /// Whether the last training step changed no variable, as its numbers were not finite; the same on all lanes.
  bool skipped() const { return finite_check_.skips(); }

  /// What of the last step the lane waited for its memory's others after its list.
  void add_wait_at_end(double seconds) { waited_at_end_ += context_.own.lanes > 1 ? seconds : 0; }
  /// The share of the time in training steps that the lane waited for others, since the last call.
  double take_waiting_share();
  /// From now on keeps the time of every action of training, with nothing else on the device meanwhile.
  void profile();

  /// What the host sends the device about the step: for steps whose actions are enqueued later.
  void fill_inputs() const { inputs_.fill(); }

  /// Makes all derived copies anew, once every lane of the domain is here.
  void renew_derived_copies();

 private:
  /// Of a lane's update: small enough that no lane waits long for the last, large enough to stay efficient.
  static constexpr int kUpdatePieces = 8;
  static constexpr std::size_t kToTheEnd = std::numeric_limits<std::size_t>::max();  ///< of a program's steps

  // The lists.
  StepPlan training_plan();
  StepPlan evaluation_plan();
  void add_inputs(StepPlan& plan, StepKind kind);
  void add_program(StepPlan& plan, Replica& replica, StepKind kind, std::size_t first, std::size_t last);
  void add_gathering(StepPlan& plan, Replica& replica, StepKind kind);
  void add_training_programs(StepPlan& plan);
  void add_sum_over_replicas(StepPlan& plan, std::size_t sum);
  void add_update(StepPlan& plan);
  void add_unless_skipped(StepPlan& plan, const char* name, std::function<void()> run, bool fixed = true);
  void add_meeting(StepPlan& plan);
  bool shares_programs() const;
  void add_shared_programs(StepPlan& plan);
  bool shares_update() const;
  void add_shared_update(StepPlan& plan);

  // What the actions do.
  std::size_t pieces_of_replica() const;
  void run_program_piece(std::size_t piece);
  void choose_cores();
  void run_program(Replica& replica, StepKind kind, std::size_t first, std::size_t last) const;
  void run_without_rows(Replica& replica, StepKind kind, std::size_t first, std::size_t last) const;
  void sum_over_replicas(std::size_t sum);
  void reduce(const GradientBucket& bucket);
  void add_squares_of_domains();
  /// `updated`: by the update's own kernel.
  void refresh_derived_copies(bool updated) const;

  LaneContext context_;
  StepInputs inputs_;
  FiniteCheck finite_check_;
  AssignedWrites assigned_writes_;
  std::vector<float> scales_;  ///< by replica of the domain, of the bucket that is reduced
  StepPlan training_, evaluation_;
  bool on_own_cores_ = true;
  double waited_in_training_ = 0;  ///< seconds, for the domain's other lanes
  double waited_at_end_ = 0;       ///< the same, after the list
};

}  // namespace mirrortrain
