#pragma once

#include <cstdint>
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
  bool is_settling = false;                                    ///< among a key's first, on GPUs that exchange something
  StepPlan::Clock::time_point start = StepPlan::Clock::now();  ///< a lane that starts later waited for it
};

/// What the lanes of a strategy have in common in their steps; all that it refers to outlives them.
struct LaneSurroundings {
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

/// What the parts of one lane's steps work with.
struct LaneContext {
  /// The lane is bound. All must outlive it.
  LaneContext(int index, Lane& its_lane, MemoryDomain& its_domain, const DomainReduction& its_reduction,
              const LaneSurroundings& surroundings);
  LaneContext(const LaneContext&) = delete;
  LaneContext& operator=(const LaneContext&) = delete;

  Stream& stream() const { return lane.stream(); }
  bool has_model() const { return !around.model.layers.empty(); }
  /// Whether the run has other domains.
  bool exchanges() const { return reduction.link != nullptr; }
  /// The replica's part of the step's global batch.
  RowRange rows_of(const Replica& replica) const {
    return rows_of_replica(step.key.examples, replica.index, around.topology.replicas);
  }
  /// Of the program that computes it.
  ProgramSize size_of(const Replica& replica) const { return {rows_of(replica).count, step.key.length}; }
  /// In the first steps of a kind kernels are loaded and recordings made, for which CUDA may wait for all that runs on
  /// a GPU and keep every thread out meanwhile. An operation that waits for another lane must not be among that: so all
  /// lanes enqueue it before any continues.
  void meet_while_settling() const {
    if (step.is_settling) around.team.meet();
  }

  Lane& lane;
  MemoryDomain& domain;
  const DomainReduction& reduction;
  const LaneSurroundings around;
  const CurrentStep& step;
  DomainLane own;
  std::vector<LaneReplica> domain_replicas;  ///< in order
};

}  // namespace mirrortrain
