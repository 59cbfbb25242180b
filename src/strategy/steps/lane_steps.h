#pragma once

#include <cstdint>
#include <vector>

#include "strategy/batch_split.h"
#include "strategy/gradients/device_exchange.h"
#include "strategy/gradients/gradient_exchange.h"
#include "strategy/steps/host_writes.h"
#include "strategy/steps/lane.h"
#include "strategy/steps/lane_team.h"
#include "strategy/steps/step.h"

namespace mirrortrain {

/// What the lanes of a strategy have in common in their steps; all that it refers to outlives them.
struct LaneSurroundings {
  const Placement& placement;
  const Model& model;
  const Backend& backend;
  const Step& step;  ///< that the lanes work on
  const HostWrites& writes;
  LaneTeam& team;
  std::uint64_t seed = 0;
  bool captures = true;               ///< where the device can
  GradientExchange* local = nullptr;  ///< absent where lanes sum what they update, or have memory of their own
};

/// What one lane does in each step: a list of actions for training and one for evaluation, written once. Lanes on host
/// memory meet between the parts of a step; lanes with memory of their own enqueue theirs and wait for each other on
/// their streams, where they exchange something.
class LaneSteps {
 public:
  /// The lane is bound, and the packs are in order. `across`: to the other lanes' devices, null for none. All must
  /// outlive it.
  LaneSteps(int index, Lane& lane, Mirror& mirror, DeviceExchange* across, const LaneSurroundings& around);
  LaneSteps(const LaneSteps&) = delete;
  LaneSteps& operator=(const LaneSteps&) = delete;

  StepPlan& training() { return training_; }
  const StepPlan& training() const { return training_; }
  StepPlan& evaluation() { return evaluation_; }

  /// From now on keeps the time of every action of training, with nothing else on the device meanwhile.
  void profile();

  /// What the host tells the device about the step, and where it writes variables itself: for steps whose actions are
  /// enqueued later.
  void fill_inputs() const;
  void write_on_host() const;

  /// `updated`: by the update's own kernel.
  void refresh_derived_copies(bool updated) const;

 private:
  // The lists (lane_plans.cpp).
  StepPlan training_plan();
  StepPlan evaluation_plan();
  void add_inputs(StepPlan& plan, StepKind kind);
  void add_sums(StepPlan& plan);
  void add_programs(StepPlan& plan, StepKind kind, std::size_t replicas);
  void add_gathering(StepPlan& plan, Replica& replica, StepKind kind);
  void add_programs_and_packs(StepPlan& plan, const GradientPacks& packs);
  void add_pack(StepPlan& plan, std::size_t pack);
  void add_update(StepPlan& plan);
  void add_own_squares(StepPlan& plan);
  void add_meeting(StepPlan& plan);

  // What the actions do.
  RowRange rows_of(const Replica& replica) const;
  std::int64_t device_rows() const;
  void gather_on_device(StepKind kind) const;
  void gather_rows(Replica& replica, StepKind kind) const;
  void run_program(Replica& replica, StepKind kind, std::size_t first, std::size_t last) const;
  void write_on_device();
  void write_shared(const DistributedVariable& variable, std::size_t assignment);
  void meet_while_settling() const;
  WeightUpdate::LaneShare share() const;
  bool on_host() const { return around_.backend.shares_host_memory(); }

  int index_;
  Lane& lane_;
  Mirror& mirror_;
  DeviceExchange* across_;
  LaneSurroundings around_;
  const Step& step_;
  std::vector<scalar::GradientSource> written_;  ///< of the assignment that is being written
  StepPlan training_, evaluation_;
};

}  // namespace mirrortrain
