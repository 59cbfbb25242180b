#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/model.h"
#include "strategy/gradient_options.h"
#include "strategy/gradients/device_exchanges.h"
#include "strategy/gradients/gradient_exchange.h"
#include "strategy/gradients/product_gradients.h"
#include "strategy/placement.h"
#include "strategy/steps/host_writes.h"
#include "strategy/steps/lane.h"
#include "strategy/steps/lane_steps.h"
#include "strategy/steps/lane_team.h"
#include "strategy/steps/step.h"
#include "strategy/steps/step_bursts.h"
#include "strategy/steps/step_results.h"
#include "strategy/strategy_options.h"
#include "strategy/variables/mirrors.h"
#include "strategy/variables/state_variables.h"

namespace mirrortrain {

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

  /// A GPU with what the run takes of it, and what is left of it now.
  struct Gpu {
    DeviceId id;
    std::size_t run = 0;
    DeviceMemory memory;
  };
  std::vector<Gpu> gpus;
};

/// What a strategy is made from, beside its model.
struct StrategyParts {
  StrategyOptions options;
  GradientOptions gradients;
  scalar::UpdateRule rule;
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
  bool must_take_sums() const { return results_.full(); }

  /// The share of its training steps that each lane waited for others, since the last call. A step begins with the call
  /// of `train`: what lane 0 does before its plan, the others wait for.
  std::vector<double> take_waiting_shares();

  /// From now on keeps the time of every action and op of training. Devices that work behind the host are waited for
  /// after each, so that steps take longer than otherwise.
  void profile();
  /// A lane's actions in order, with the seconds spent in each; "meet" is waiting for the others.
  std::vector<StepPlan::ActionTime> action_times(int lane) const;
  /// The ops of a replica's largest program: see BoundProgram::profile.
  std::vector<BoundProgram::StepTime> step_times(int replica) const;

 private:
  void add_lanes(data::Cache cache);
  void add_exchanges(const StrategyParts& parts, const std::optional<LocalReduction>& reduction,
                     std::span<Device* const> devices);
  void add_products();
  void order_packs();
  void connect_devices();
  void require_memory(int lane, const BatchSizes& sizes) const;
  GradientPacks* packs_of(int lane);
  Mirror& mirror(int lane) const { return mirrors_->of_lane(lane); }
  bool on_host() const { return backend_->shares_host_memory(); }
  bool several_memories() const { return !on_host() && lanes_.size() > 1; }

  void run_lanes(const std::function<void(int)>& work);
  void enter_thread() const;
  void enqueue_deferred();
  void synchronize();

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
  std::vector<Stream*> streams_;       ///< theirs
  std::vector<LaneReplica> replicas_;  ///< in order
  std::unique_ptr<StateVariables> state_;
  std::optional<HostWrites> writes_;
  std::optional<GradientExchange> exchange_;         ///< absent where lanes sum what they update
  std::optional<DeviceExchanges> device_exchanges_;  ///< for several memories

  Step step_;
  StepResults results_;
  std::vector<std::unique_ptr<LaneSteps>> lane_steps_;
  std::function<void(int)> run_training_, run_evaluation_;
  std::unique_ptr<StepBursts> bursts_;                 ///< where steps can be enqueued together
  std::size_t deferred_ = 0;                           ///< steps that are filled and not yet enqueued
  std::map<StepPlan::StepOfKind, int> steps_of_kind_;  ///< trained so far, where devices exchange something
  StepPlan::Clock::time_point step_start_;
  double evaluation_regularization_ = 0;

  std::unique_ptr<LaneTeam> team_;  ///< last, so that its threads end first
};

}  // namespace mirrortrain
