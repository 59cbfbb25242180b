#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/model.h"
#include "strategy/gradient_options.h"
#include "strategy/reduction/deferred_gradients.h"
#include "strategy/reduction/run_reduction.h"
#include "strategy/stage_model.h"
#include "strategy/steps/lane_steps.h"
#include "strategy/steps/multi_step_graph.h"
#include "strategy/steps/steps_in_flight.h"
#include "strategy/strategy.h"
#include "strategy/strategy_options.h"

namespace mirrortrain {

/// Arguments of a mirrored strategy in addition to its model and topology.
struct MirroredParts {
  StrategyOptions options;
  GradientOptions gradients;
  bool updates = true;                   ///< false: somebody else applies the gradients, and has the slots
  std::vector<VariablePolicy> policies;  ///< of the model's variables, resolved
  State state;
  std::uint64_t seed = 0;
  data::Cache cache = data::Cache::kAuto;
  std::int64_t largest_batch = 0;  ///< maximum number of examples of a training step
  StepOptions steps;
  bool keeps_gradients = false;  ///< even if the update does not need it: for callers that send them elsewhere
  std::shared_ptr<const Backend> backend;  ///< of the topology's devices
  std::function<std::string()> why_no_nccl;
  /// Called if the run has several memory domains.
  std::function<RunCommunicators(const Topology&, const StrategyOptions&, const ReductionChoice&, const Backend&,
                                 std::span<Device* const>)>
      communicators;
};

/// one_device, mirrored and multi_worker_mirrored, which differ only in their topology: every replica has the same
/// variables and trains synchronously on its part of each global batch. A step is a list of actions for each lane (see
/// LaneSteps). Every sum has a fixed order, whichever lanes run it: the replicas' or the operation's within a domain,
/// the communicator's across domains.
class MirroredStrategy : public Strategy {
 public:
  /// `model` must outlive it; without layers, steps only write the state. The calling thread becomes lane 0. Throws
  /// UsageError if the options need devices that do not exist.
  MirroredStrategy(Topology topology, const Model& model, MirroredParts parts);
  ~MirroredStrategy() override;

  const Topology& topology() const override { return topology_; }
  std::string note() const override { return note_; }
  void prepare(const BatchSizes& sizes) override;
  void train(const StepSpec& step) override;
  void evaluate(const StepSpec& step) override;
  std::vector<PredictedShapes> predicted_shapes() const override;
  void replace_data_set(const data::Feeder& before, const data::Feeder& now) override;
  void predict(const StepSpec& step, std::span<const PredictedOutput> outputs) override;
  std::span<const StepSums> take_sums() override;
  bool must_take_sums() const override {
    return in_flight_.is_full() || (parts_.steps.skips_non_finite && in_flight_.size() > 0);
  }
  void read_variables(Lasting what, const VariableVisit& visit) override;
  void read_in_pieces(Lasting what, const PieceVisit& visit) override;
  void write_variables(Lasting what, const VariableVisit& visit) override { write(what, visit, false); }
  void change_variables(Lasting what, const VariableVisit& visit) override { write(what, visit, true); }
  std::vector<int> state_owners() const override { return variables_->domains()[0]->variables.owners(); }
  bool keeps_gradients() const override { return variables_->domains()[0]->variables.keeps_gradients(); }
  const StateVariables& state() const override { return *state_; }
  const Model* model_in_parts() const override { return divided_ ? &*divided_ : nullptr; }
  std::optional<SparseRows> sparse_gradient(std::size_t variable) override;
  /// This process's variables, where they are.
  std::span<const std::unique_ptr<MemoryDomain>> memory_domains() const { return variables_->domains(); }
  Workers workers() override;
  std::string differing_replicas() override;
  void abort(const std::string& reason) override;
  MemoryForecast memory() const override;
  std::vector<double> take_waiting_shares() override;
  WaitedFor take_waited_for() override { return in_flight_.take_waited_for(); }
  void profile() override;
  std::vector<ProfileEntry> profile_entries() const override;

 private:
  /// The lanes of this process.
  struct Lanes {
    std::vector<std::unique_ptr<Lane>> owned;
    std::vector<Device*> devices;       ///< of the lanes
    std::vector<Stream*> streams;       ///< of the lanes
    std::vector<LaneReplica> replicas;  ///< in order

    int size() const { return static_cast<int>(owned.size()); }
    Lane& operator[](int lane) const { return *owned[static_cast<std::size_t>(lane)]; }
    Stream& stream(int lane) const { return *streams[static_cast<std::size_t>(lane)]; }
  };

  // Called once, before the first step.
  void add_lanes(data::Cache cache);
  std::string sparse_note() const;
  void add_products();
  void bind_sparse();
  void connect_domains();
  void require_memory_for_variables(const StoreOptions& store, const DomainPlace& domain) const;
  void require_memory(int lane, std::int64_t batch) const;

  const DomainReduction& reduction_of_lane(int lane) const {
    return reduction_->of_domain(variables_->domain_of_lane(lane));
  }
  LaneSteps& steps_of_lane(int lane) const { return *lane_steps_[static_cast<std::size_t>(lane)]; }

  void begin_step(const StepSpec& step, const StepKey& key, std::optional<double> regularization);
  bool gives_output(std::size_t number) const;
  void begin_evaluation();
  void renew_derived_copies();
  void write(Lasting what, const VariableVisit& visit, bool reads);
  void run_training();
  void run_evaluation(const StepSpec& step, const StepKey& key);
  void run_lanes(const std::function<void(int)>& work);
  void enter_thread() const;
  void enqueue_deferred();
  void synchronize();
  void synchronize(int lane);

  Topology topology_;
  const MirroredParts parts_;
  const std::optional<StageModel> stages_;  ///< this worker's, if others have other stages
  const std::optional<Model> divided_;      ///< the model where places have parts of the weights; none if all have them
  const Model& model_;                      ///< one of these, or the given one
  std::string note_;
  DeferredGradients deferred_;             ///< left to the update
  std::optional<RunVariables> variables_;  ///< before the lanes, so that their streams are destroyed first
  Lanes lanes_;
  std::optional<RunReduction> reduction_;
  std::unique_ptr<StateVariables> state_;

  StepsInFlight in_flight_;
  Step step_;  ///< the last one begun
  std::vector<std::unique_ptr<LaneSteps>> lane_steps_;
  std::unique_ptr<MultiStepGraph> multi_step_;       ///< set if steps can be enqueued together
  std::map<StepKey, int> steps_of_key_;              ///< trained so far, on GPUs that exchange data
  std::optional<double> evaluation_regularization_;  ///< absent if the evaluation copies are outdated

  std::unique_ptr<LaneTeam> team_;  ///< last, so that its threads end first
};

}  // namespace mirrortrain
