#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/feeder.h"
#include "model/model.h"
#include "strategy/batch_split.h"
#include "strategy/device_exchange.h"
#include "strategy/gradient_exchange.h"
#include "strategy/gradient_options.h"
#include "strategy/lane.h"
#include "strategy/lane_team.h"
#include "strategy/mirrors.h"
#include "strategy/placement.h"
#include "strategy/product_gradients.h"
#include "strategy/state_variables.h"
#include "strategy/step_bursts.h"
#include "strategy/step_plan.h"
#include "strategy/strategy_options.h"
#include "strategy/sums.h"
#include "strategy/variable_write.h"

namespace mirrortrain {

/// One global batch to train on.
struct TrainBatch {
  const data::Feeder* examples = nullptr;  ///< may be null where there is no model
  std::span<const std::int64_t> rows;      ///< of the data set
  std::int64_t step = 0;                   ///< counts batches from 1
  UpdateStep update;                       ///< `examples` is filled in
};

struct EvaluationBatch {
  const data::Feeder* examples = nullptr;
  std::span<const std::int64_t> rows;
};

/// Sizes of global batches that a run will meet, and the data sets that they are from, so that all programs and memory
/// are there before the first step.
struct BatchSizes {
  std::vector<std::int64_t> train, evaluate;
  std::vector<const data::Feeder*> examples;  ///< must outlive the strategy
};

/// What a run takes, in bytes.
struct MemoryForecast {
  std::size_t variables = 0;    ///< weights, gradients, optimizer slots, copies and derived copies of all replicas
  std::size_t activations = 0;  ///< arenas and input buffers of all replicas
  std::size_t examples = 0;     ///< in the memory of GPUs
};

/// What a strategy is made from, beside its model.
struct StrategyParts {
  StrategyOptions options;
  GradientOptions gradients;
  UpdateRule rule;
  std::vector<VariablePolicy> policies;  ///< of the model's variables, resolved
  State state;
  std::uint64_t seed = 0;
  data::Cache cache = data::Cache::kAuto;
  bool captures = true;                    ///< steps, where the devices can
  std::shared_ptr<const Backend> backend;  ///< of the placement's devices
  /// For several devices with memory of their own.
  std::function<Communicators(const Placement&, const StrategyOptions&, AggregationMethod, std::span<Device* const>)>
      communicators;
};

/// Trains and evaluates a model on the replicas of one machine, in step. A step is a list of actions for each lane: the
/// replicas' programs, a meeting, the update, a meeting, derived copies; with a cross-device operation that copies, the
/// reduction of each pack of gradients stands between the programs' parts. Every sum runs in the order of the replicas,
/// so the result depends on the replicas alone, not on the lanes that run them.
///
/// Devices with memory of their own work behind the host: steps are on their way until their sums are taken.
class Strategy {
 public:
  /// `model` must outlive it; one without layers just writes the state. The calling thread becomes lane 0. Throws
  /// UsageError for what the options ask of devices that are not there.
  Strategy(Placement placement, const Model& model, const StrategyParts& parts);

  int num_replicas_in_sync() const { return placement_.replicas; }
  const Placement& placement() const { return placement_; }
  /// How gradients are added across replicas and why, for the log.
  const std::string& cross_device_note() const { return cross_device_note_; }

  /// Builds programs, memory and the steps' plans. Throws Error where a kernel is missing or memory is short.
  void prepare(const BatchSizes& sizes);
  MemoryForecast memory() const;

  /// The variables of all replicas in host memory, for who fills, saves and reads them between steps: waits for the
  /// devices' last values. Call `variables_changed` after writing.
  const VariableStore& variables();
  const StateVariables& state() const { return *state_; }
  void variables_changed();

  /// Trains on one global batch of a size that was prepared.
  void train(const TrainBatch& batch);

  /// Call once before the batches of an evaluation: takes what reading the variables outside the replicas gives.
  void begin_evaluation();
  /// Goes over one batch of a size that was prepared. Regularization counts as in training.
  void evaluate(const EvaluationBatch& batch);

  /// The sums over the examples of each step since the last call, in order, waiting for the devices; those of training
  /// were computed before the step's update. Valid until the next step.
  std::span<const Sums> take_sums();
  /// Whether the sums must be taken before the next step.
  bool must_take_sums() const { return pending_.size() == sums_.size(); }

  /// The share of its training steps that each lane waited for others, since the last call. A step begins with the call
  /// of `train`: what lane 0 does before its plan, the others wait for.
  std::vector<double> take_waiting_shares();

  /// From now on keeps the time of every action and op of training.
  void profile();
  /// A lane's actions in order, with the seconds spent in each; "meet" is waiting for the others.
  std::vector<StepPlan::ActionTime> action_times(int lane) const;
  /// The ops of a replica's largest program: see BoundProgram::profile.
  std::vector<BoundProgram::StepTime> step_times(int replica) const;

 private:
  /// A step whose sums nobody has taken.
  struct Pending {
    std::int64_t examples = 0;
    std::optional<double> regularization;  ///< where it is not what the step found
  };

  void require_memory(int lane, const BatchSizes& sizes) const;
  void add_products();
  void add_model_writes();
  void make_exchanges(const StrategyParts& parts, std::span<Device* const> devices);
  GradientPacks* packs_of(int lane);
  void order_packs();
  void connect_devices();
  StepPlan train_plan(int lane);
  StepPlan evaluation_plan(int lane);
  void add_inputs(StepPlan& plan, Lane& lane, StepKind kind);
  void add_sums(StepPlan& plan, Lane& lane);
  void add_whole_programs(StepPlan& plan, Lane& lane, StepKind kind, std::size_t replicas);
  void add_exchange(StepPlan& plan, int lane);
  void add_local_reduction(StepPlan& plan, Lane& lane, std::size_t pack);
  void add_meeting(StepPlan& plan);
  void meet_while_settling();
  WeightUpdate::LaneShare share_of(int lane) const;

  // What the plans are made of.
  RowRange rows_of(const Replica& replica) const;
  void require_room() const;
  void enter_thread() const;
  void run_lanes(const std::function<void(int)>& work);
  void abort_exchanges(const char* reason);
  void synchronize();
  void enqueue_deferred();
  void fill_inputs(Lane& lane);
  void send_inputs(const Lane& lane);
  std::int64_t device_rows(const Lane& lane) const;
  void gather_on_device(Lane& lane, StepKind kind);
  void gather_rows(Replica& replica, StepKind kind);
  void run_program(Lane& lane, Replica& replica, StepKind kind, std::size_t first, std::size_t last);
  void choose_written_values();
  void write_on_host(int lane);
  void write_on_device(int lane);
  void write_shared(int lane, const DistributedVariable& variable, std::size_t assignment);
  void refresh_derived_copies(int lane, bool updated);
  void add_up(std::size_t slot);

  Placement placement_;
  const Model& model_;
  std::shared_ptr<const Backend> backend_;
  std::uint64_t seed_;
  double timeout_seconds_;
  bool captures_;
  std::string cross_device_note_;
  std::vector<ProductGradient> products_;
  std::optional<Mirrors> mirrors_;  ///< before the lanes, so that their streams end first
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Replica*> replicas_;    ///< in order
  std::vector<std::size_t> lane_of_;  ///< by replica
  std::unique_ptr<StateVariables> state_;
  std::optional<GradientExchange> exchange_;  ///< absent where lanes sum what they update
  Communicators communicators_;
  std::vector<std::unique_ptr<DeviceExchange>> device_exchanges_;  ///< by lane; none for one memory
  std::vector<VariableWrite> writes_;                              ///< the model's assignments, then the state's
  std::vector<std::vector<scalar::GradientSource>> written_;       ///< by lane, of the assignment that is being written
  std::vector<StepPlan> train_plans_, evaluation_plans_;
  std::function<void(int)> run_train_, run_evaluation_;
  std::unique_ptr<StepBursts> bursts_;  ///< where steps can be enqueued together

  TrainBatch batch_;  ///< that the lanes work on
  scalar::UpdateScalars update_scalars_;
  StepPlan::StepOfKind kind_;
  std::size_t slot_ = 0;                               ///< of its inputs and sums
  std::size_t deferred_ = 0;                           ///< steps that are pending and not yet enqueued
  std::map<StepPlan::StepOfKind, int> steps_of_kind_;  ///< trained so far, where devices exchange something
  bool is_settling_ = false;                           ///< the step is among a kind's first: see meet_while_settling
  StepPlan::Clock::time_point step_start_;
  double evaluation_regularization_ = 0;
  std::vector<Pending> pending_;
  std::vector<Sums> sums_;  ///< one for each step that may be on its way

  std::unique_ptr<LaneTeam> team_;  ///< last, so that its threads end first
};

}  // namespace mirrortrain
