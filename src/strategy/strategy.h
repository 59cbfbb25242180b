#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "data/feeder.h"
#include "model/model.h"
#include "model/update_rule.h"
#include "strategy/batch_split.h"
#include "strategy/derived_copies.h"
#include "strategy/lane.h"
#include "strategy/lane_team.h"
#include "strategy/placement.h"
#include "strategy/sums.h"
#include "strategy/variable_store.h"

namespace mirrortrain {

/// One global batch to train on.
struct TrainBatch {
  const data::Feeder* examples = nullptr;
  std::span<const std::int64_t> rows;  ///< of the data set
  std::int64_t step = 0;               ///< counts batches from 1
  std::int64_t updates = 0;            ///< counts updates from 1, this one included
  double learning_rate = 0;
};

struct EvaluationBatch {
  const data::Feeder* examples = nullptr;
  std::span<const std::int64_t> rows;
};

/// Sizes of global batches that a run will meet, so that all programs and memory are there before the first step.
struct BatchSizes {
  std::vector<std::int64_t> train, evaluate;
};

/// What a run takes, in bytes.
struct MemoryForecast {
  std::size_t variables = 0;    ///< weights, gradients, optimizer slots, copies and derived copies of all replicas
  std::size_t activations = 0;  ///< arenas and input buffers of all replicas
};

/// Trains and evaluates a model on the replicas of one machine, in step. A step is a list of actions for each lane: the
/// replicas' programs, a meeting, the update of the lane's shard, a meeting, derived copies. Every sum runs in the
/// order of the replicas, so the result depends on the replicas alone, not on the lanes that run them.
class Strategy {
 public:
  /// `model` must outlive it. The calling thread becomes lane 0.
  Strategy(Placement placement, const Model& model, const UpdateRule& rule, std::uint64_t seed, double timeout_seconds);

  int num_replicas_in_sync() const { return placement_.replicas; }
  const Placement& placement() const { return placement_; }

  /// Builds programs and memory. Throws Error where a kernel is missing or memory is short.
  void prepare(const BatchSizes& sizes);
  MemoryForecast memory() const;

  /// The variables, for who fills, saves and reads them between steps. Call `variables_changed` after writing.
  const VariableStore& variables() const { return *variables_; }
  void variables_changed();

  /// Trains on one global batch of a size that was prepared; returns the sums over its examples, computed before the
  /// update.
  const Sums& train(const TrainBatch& batch);

  /// Call once before the batches of an evaluation: takes what reading the variables outside the replicas gives.
  void begin_evaluation();
  /// The sums over one batch of a size that was prepared. Regularization counts as in training.
  const Sums& evaluate(const EvaluationBatch& batch);

  /// From now on keeps the time of every action and op of training.
  void profile();
  /// A lane's actions in order, with the seconds spent in each; "meet" is waiting for the others.
  struct ActionTime {
    const char* name;
    double seconds;
  };
  std::vector<ActionTime> action_times(int lane) const;
  /// The ops of a replica's largest program: see BoundProgram::profile.
  std::vector<BoundProgram::StepTime> step_times(int replica) const;

 private:
  struct Action {
    const char* name;
    std::function<void()> run;
    double seconds = 0;
  };
  using Plan = std::vector<Action>;

  Plan train_plan(int lane);
  Plan evaluation_plan(int lane);
  void add_replica_actions(Plan& plan, Lane& lane, StepKind kind);
  void add_meeting(Plan& plan);
  void run_plan(Plan& plan);
  RowRange rows_of(const Replica& replica) const;
  void gather_rows(Replica& replica, StepKind kind);
  void run_program(Lane& lane, Replica& replica, StepKind kind);
  void update_shard(int lane);
  void refresh_derived_copies(int lane);
  void assign_variables(Replica& replica);
  void add_sums(double regularization);

  Placement placement_;
  const Model& model_;
  cpu::UpdateRule rule_;
  std::uint64_t seed_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Replica*> replicas_;  ///< in order
  std::unique_ptr<VariableStore> variables_;
  std::unique_ptr<DerivedCopies> derived_;
  std::vector<Plan> train_plans_, evaluation_plans_;
  std::function<void(int)> run_train_, run_evaluation_;

  // The batch that the lanes work on.
  TrainBatch batch_;
  std::vector<cpu::GradientSource> sources_;  ///< in the replicas' order
  bool profiling_ = false;
  double evaluation_regularization_ = 0;
  Sums sums_;

  std::unique_ptr<LaneTeam> team_;  ///< last, so that its threads end first
};

}  // namespace mirrortrain
