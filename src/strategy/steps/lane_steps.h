#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "strategy/reduction/run_reduction.h"
#include "strategy/step_spec.h"
#include "strategy/steps/lane.h"
#include "strategy/steps/lane_team.h"
#include "strategy/steps/step_plan.h"

namespace mirrortrain {

/// The step that the lanes work on, of training or evaluation: set before they begin, the same for all.
struct CurrentStep {
  StepSpec spec;
  StepKey key;
  StepParams params;                                           ///< what the update reads
  std::size_t slot = 0;                                        ///< of its inputs and sums
  bool is_filled = false;                                      ///< its inputs lie in the slot already
  bool is_settling = false;                                    ///< among a key's first, on GPUs that exchange something
  StepPlan::Clock::time_point start = StepPlan::Clock::now();  ///< a lane that starts later waited for it
};

/// What the lanes of a strategy have in common in their steps; all that it refers to outlives them.
struct LaneSurroundings {
  const Topology& topology;
  const Model& model;
  const Backend& backend;
  const CurrentStep& step;
  std::span<const LaneReplica> replicas;  ///< of this process, in order
  LaneTeam& team;
  std::uint64_t seed = 0;
  bool captures = true;  ///< where the device can
  /// Whether a step with a loss or a gradient that is not finite, in any memory, changes no variable. The host waits in
  /// each step then.
  bool skips_non_finite = false;
};

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
  bool skipped() const { return skips_; }

  /// The share of the time in training steps that the lane waited for others, since the last call.
  double take_waiting_share();
  /// From now on keeps the time of every action of training, with nothing else on the device meanwhile.
  void profile();

  /// What the host tells the device about the step: for steps whose actions are enqueued later.
  void fill_inputs() const;

  /// Makes all derived copies anew, once every lane of the domain is here.
  void renew_derived_copies();

 private:
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

  // What the actions do.
  RowRange rows_of(const Replica& replica) const;
  std::int64_t device_rows() const;
  void gather_on_device(StepKind kind) const;
  void gather_rows(Replica& replica, StepKind kind) const;
  void run_program(Replica& replica, StepKind kind, std::size_t first, std::size_t last) const;
  void run_without_rows(Replica& replica, StepKind kind, std::size_t first, std::size_t last) const;
  void sum_over_replicas(std::size_t sum);
  void reduce(const GradientBucket& bucket);
  void find_non_finite();
  bool is_finite_here() const;
  void add_squares_of_domains();
  bool assigns(const Replica& replica, std::size_t assignment) const;
  void write_variables();
  void write_shared(const DistributedVariable& variable, std::size_t assignment);
  /// `updated`: by the update's own kernel.
  void refresh_derived_copies(bool updated) const;
  void meet_while_settling() const;

  Lane& lane_;
  MemoryDomain& domain_;
  const DomainReduction& reduction_;
  LaneSurroundings around_;
  const CurrentStep& step_;
  DomainLane own_;
  std::vector<LaneReplica> domain_replicas_;  ///< of the domain, in order
  std::vector<float> scales_;                 ///< by replica of the domain, of the bucket that is reduced
  std::vector<const float*> assigned_;        ///< by replica of the domain, to the variable that is written
  StepPlan training_, evaluation_;
  bool skips_ = false;             ///< what is left of the step
  double waited_in_training_ = 0;  ///< seconds, for the domain's other lanes
};

}  // namespace mirrortrain
