#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/model.h"
#include "strategy/gradient_options.h"
#include "strategy/reduction/choose_reduction.h"
#include "strategy/reduction/product_gradients.h"
#include "strategy/steps/lane_steps.h"
#include "strategy/steps/step_bursts.h"
#include "strategy/strategy.h"
#include "strategy/strategy_options.h"
#include "strategy/variables/run_variables.h"

namespace mirrortrain {

/// The ranks of a run in this process.
struct RunCommunicators {
  Communicators domains;            ///< one rank for each memory domain
  Communicator* workers = nullptr;  ///< of this process among the workers, in host memory; null for one worker
};

/// What a mirrored strategy is made from, beside its model and topology.
struct MirroredParts {
  StrategyOptions options;
  GradientOptions gradients;
  scalar::UpdateRule rule;
  std::vector<VariablePolicy> policies;  ///< of the model's variables, resolved
  State state;
  std::uint64_t seed = 0;
  data::Cache cache = data::Cache::kAuto;
  bool captures = true;                    ///< steps, where the devices can
  std::shared_ptr<const Backend> backend;  ///< of the topology's devices
  std::function<std::string()> why_no_nccl;
  /// Called where the run has several memory domains.
  std::function<RunCommunicators(const Topology&, const StrategyOptions&, const ReductionChoice&, const Backend&,
                                 std::span<Device* const>)>
      communicators;
};

/// one_device, mirrored and multi_worker_mirrored, which differ in their topology alone: every replica has the same
/// variables and trains on its part of each global batch, in step. A step is a list of actions for each lane (see
/// LaneSteps). Every sum runs in the order of the replicas, so the result depends on the replicas alone, not on the
/// lanes that run them.
class MirroredStrategy : public Strategy {
 public:
  /// `model` must outlive it; one without layers just writes the state. The calling thread becomes lane 0. Throws
  /// UsageError for what the options ask of devices that do not exist.
  MirroredStrategy(Topology topology, const Model& model, const MirroredParts& parts);

  const Topology& topology() const override { return topology_; }
  std::string note() const override { return note_; }
  void prepare(const BatchSizes& sizes) override;
  void train(const StepSpec& step) override;
  void evaluate(const StepSpec& step) override;
  std::span<const StepSums> take_sums() override;
  bool must_take_sums() const override { return in_flight_.size() == sums_.size(); }
  const VariableStore& variables() override;
  void variables_changed() override;
  const StateVariables& state() const override { return *state_; }
  std::int64_t agree(std::int64_t value) override;
  MemoryForecast memory() const override;
  std::vector<double> take_waiting_shares() override;
  void profile() override;
  std::vector<ProfileEntry> profile_entries() const override;

 private:
  void add_lanes(data::Cache cache);
  void add_reductions(const MirroredParts& parts, const ReductionChoice& choice);
  void order_buckets();
  void add_products();
  void connect_domains();
  void require_memory(int lane, const BatchSizes& sizes) const;
  const DomainReduction& reduction_of_lane(int lane) const {
    return reductions_[static_cast<std::size_t>(variables_->domain_of_lane(lane))];
  }

  /// A slot for a step's inputs and sums.
  std::size_t begin_step(const StepSpec& step, std::optional<double> regularization);
  void begin_evaluation();
  void add_up(std::size_t slot);
  void add_workers(std::span<StepSums> sums);
  void run_lanes(const std::function<void(int)>& work);
  void enter_thread() const;
  void enqueue_deferred();
  void synchronize();
  void abort(const char* reason) const;

  Topology topology_;
  const Model& model_;
  std::shared_ptr<const Backend> backend_;
  std::uint64_t seed_;
  double timeout_seconds_;
  bool captures_;
  std::string note_;
  std::vector<ProductGradient> products_;
  std::optional<RunVariables> variables_;  ///< before the lanes, so that their streams end first
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Device*> devices_;             ///< theirs
  std::vector<Stream*> streams_;             ///< theirs
  std::vector<LaneReplica> replicas_;        ///< of this process, in order
  RunCommunicators communicators_;           ///< before what enqueues operations
  std::vector<DomainReduction> reductions_;  ///< by domain of this process
  std::unique_ptr<StateVariables> state_;

  /// A step whose sums nobody has taken.
  struct InFlight {
    std::int64_t examples = 0;
    std::optional<double> regularization;  ///< where it is not what the step finds
  };
  std::vector<InFlight> in_flight_;  ///< by slot
  std::vector<StepSums> sums_;       ///< as many as may be in flight
  std::vector<double> packed_sums_;  ///< of all steps in flight, for the other workers
  CurrentStep step_;
  std::vector<std::unique_ptr<LaneSteps>> lane_steps_;
  std::function<void(int)> run_training_, run_evaluation_;
  std::unique_ptr<StepBursts> bursts_;      ///< where steps can be enqueued together
  std::size_t deferred_ = 0;                ///< steps that are filled and not yet enqueued
  std::map<StepKey, int> steps_of_key_;     ///< trained so far, on GPUs that exchange something
  StepPlan::Clock::time_point step_start_;  ///< a lane that starts later waited for it
  bool evaluation_is_current_ = false;      ///< the evaluation's copies are those of the variables
  double evaluation_regularization_ = 0;

  std::unique_ptr<LaneTeam> team_;  ///< last, so that its threads end first
};

}  // namespace mirrortrain
