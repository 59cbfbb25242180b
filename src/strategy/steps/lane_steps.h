#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "strategy/reduction/run_reduction.h"
#include "strategy/step_spec.h"
#include "strategy/steps/lane.h"
#include "strategy/steps/lane_team.h"
#include "strategy/steps/shared_work.h"
#include "strategy/steps/step_plan.h"

namespace mirrortrain {

/// The step that the lanes work on, of training or evaluation: set before they begin, the same for all.
struct CurrentStep {
  StepSpec spec;
  StepKey key;
  StepParams params;                                           ///< what the update reads
  std::size_t slot = 0;                                        ///< of its inputs and sums
  bool is_filled = false;                                      ///< its inputs lie in the slot already
  bool is_warming_up = false;                                  ///< among a key's first, on GPUs that exchange something
  StepPlan::Clock::time_point start = StepPlan::Clock::now();  ///< a lane that starts later waited for it
};

/// What the lanes of a run have in common in their steps; all that it refers to outlives them.
struct RunSteps {
  const Topology& topology;
  const Model& model;
  const CurrentStep& step;
  std::span<const LaneReplica> replicas;  ///< of this process, in order
  LaneTeam& team;
  SharedWork& programs;  ///< of training; where all lanes compute on one memory, as the next
  SharedWork& updates;
  WorkingLanes& working_lanes;
  std::uint64_t seed = 0;
  bool captures = true;  ///< where the device can
  /// Whether a step with a loss or a gradient that is not finite, in any memory, changes no variable. The host waits in
  /// each step then.
  bool skips_non_finite = false;
};

/// What one lane does in each step: a list of actions for training and one for evaluation, written once
/// (lane_plans.cpp); what the actions do is in lane_steps.cpp, step_inputs.cpp, finite_check.cpp and
/// assigned_writes.cpp. Lanes of one domain meet between the parts of a step; lanes with a domain of their own enqueue
/// theirs and wait for each other on their streams, where they exchange something.
class LaneSteps {
 public:
  /// The lane is bound, and the buckets are in order. All must outlive it.
  LaneSteps(int index, Lane& lane, MemoryDomain& domain, const DomainReduction& reduction, const RunSteps& run);
  LaneSteps(const LaneSteps&) = delete;
  LaneSteps& operator=(const LaneSteps&) = delete;

  /// Runs the list for training; `start`: when the step began.
  void train(StepPlan::Clock::time_point start, const StepKey& key);
  StepPlan& training() { return training_; }
  const StepPlan& training() const { return training_; }
  StepPlan& evaluation() { return evaluation_; }

  /// Whether the last training step changed no variable, as its numbers were not finite; the same on all lanes.
  bool skipped() const { return skips_; }

  /// What of the last step the lane waited for its memory's others after its list.
  void add_wait_at_end(double seconds) { waited_at_end_ += own_.lanes > 1 ? seconds : 0; }
  /// The share of the time in training steps that the lane waited for others, since the last call.
  double take_waiting_share();
  /// From now on keeps the time of every action of training, with nothing else on the device meanwhile.
  void profile();

  /// Writes what the host sends the device about the step, and looks its programs up: for steps whose actions are
  /// enqueued later.
  void fill_inputs() const;

  /// Makes all derived copies anew, once every lane of the domain is here.
  void renew_derived_copies();

 private:
  /// Of a lane's update: small enough that no lane waits long for the last, large enough to stay efficient.
  static constexpr int kUpdatePieces = 8;
  static constexpr std::size_t kToTheEnd = std::numeric_limits<std::size_t>::max();  ///< of a program's steps

  Stream& stream() const { return lane_.stream(); }
  bool has_model() const { return !run_.model.layers.empty(); }
  /// Whether the run has other domains.
  bool exchanges() const { return reduction_.link != nullptr; }
  /// The replica's part of the step's global batch.
  RowRange rows_of(const Replica& replica) const {
    return rows_of_replica(run_.step.key.examples, replica.index, run_.topology.replicas);
  }
  /// In the first steps of a kind kernels are loaded and recordings made, for which CUDA may wait for all that runs on
  /// a GPU and keep every thread out meanwhile. An operation that waits for another lane must not be among that: so all
  /// lanes enqueue it before any continues.
  void meet_while_warming_up() const {
    if (run_.step.is_warming_up) run_.team.meet();
  }

  // The lists.
  StepPlan training_plan();
  StepPlan evaluation_plan();
  void add_inputs(StepPlan& plan);
  void add_program(StepPlan& plan, Replica& replica, StepKind kind, std::size_t first, std::size_t last);
  void add_gathering(StepPlan& plan, Replica& replica);
  void add_training_programs(StepPlan& plan);
  void add_sum_over_replicas(StepPlan& plan, std::size_t sum);
  void add_update(StepPlan& plan);
  void add_unless_skipped(StepPlan& plan, const char* name, std::function<void()> run, bool fixed = true);
  void add_meeting(StepPlan& plan);
  bool shares_programs() const;
  void add_shared_programs(StepPlan& plan);
  bool shares_update() const;
  void add_shared_update(StepPlan& plan);

  // What the actions do. Inputs:
  std::int64_t device_rows() const;
  /// Sends the step's slot to the device, filled now where it was not before.
  void send_inputs() const;
  /// Where the lane's device gathers the examples: those of all replicas one after the other, from the rows sent.
  void gather_on_device() const;
  /// Where the host does: those of one replica.
  void gather_rows(const Replica& replica) const;

  // Programs and sums:
  std::size_t pieces_of_replica() const;
  void run_program_piece(std::size_t piece);
  void choose_cores();
  void run_program(Replica& replica, StepKind kind, std::size_t first, std::size_t last) const;
  void run_without_rows(Replica& replica, StepKind kind, std::size_t first, std::size_t last) const;
  void sum_over_replicas(std::size_t sum);
  void reduce(const GradientBucket& bucket);
  void add_squares_of_domains();

  // Once every gradient is there:
  /// Whether the step, or one that is accumulated with it, has numbers that are not finite, in any domain. Waits for
  /// the devices.
  void find_non_finite();
  bool is_finite_in_domain() const;
  /// Each replica's own copy, or the replicas' values as one.
  void write_assigned();
  bool assigns(const Replica& replica, std::size_t assignment) const;
  void write_shared(const DistributedVariable& variable, std::size_t assignment);
  /// `updated`: by the update's own kernel.
  void refresh_derived_copies(bool updated) const;

  Lane& lane_;
  MemoryDomain& domain_;
  const DomainReduction& reduction_;
  const RunSteps run_;
  DomainLane own_;
  std::vector<LaneReplica> domain_replicas_;  ///< in order
  std::vector<float> scales_;                 ///< by replica of the domain, of the bucket that is reduced
  StepPlan training_, evaluation_;
  bool skips_ = false;  ///< the step that was checked last changes no variable
  bool on_own_cores_ = true;
  double waited_in_training_ = 0;  ///< seconds, for the domain's other lanes
  double waited_at_end_ = 0;       ///< the same, after the list
};

}  // namespace mirrortrain
