#include "strategy/parameter_server/parameter_server_strategy.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <utility>

#include "base/error.h"
#include "device/cpu/cpu_device.h"
#include "strategy/parameter_server/parameter_client.h"
#include "strategy/parameter_server/variable_exchange.h"

namespace mirrortrain {
namespace {

class ParameterServerStrategy : public Strategy {
 public:
  /// `model` and `dispatch`, whose service is being served, must outlive it.
  ParameterServerStrategy(const Model& model, ParameterServerParts parts, DispatchService& dispatch);
  /// Ends the run on workers and servers.
  ~ParameterServerStrategy() override;

  const Topology& topology() const override { return topology_; }
  std::string note() const override;
  void prepare(const BatchSizes& sizes) override { examples_ = sizes.data_sets; }
  /// Returns once a worker has the step.
  void train(const StepSpec& step) override;
  void evaluate(const StepSpec& step) override;
  std::span<const StepSums> take_sums() override;
  bool must_take_sums() const override { return false; }
  void read_variables(Lasting what, const VariableVisit& visit) override;
  void write_variables(Lasting what, const VariableVisit& visit) override { change_variables(what, visit); }
  void change_variables(Lasting what, const VariableVisit& visit) override;
  bool keeps_gradients() const override { return false; }
  const StateVariables& state() const override { return state_; }
  void abort(const std::string& reason) override;
  std::vector<std::int64_t> staleness() const override { return staleness_; }

 private:
  DispatchedStep dispatched(const StepSpec& step) const;
  void require(const StepResult& result) const;
  void collect();
  void end(const std::string& failure);
  const std::vector<LastingVariable>& latest();

  const ParameterServerParts parts_;
  DispatchService& dispatch_;
  Topology topology_;
  std::unique_ptr<Device> device_;
  VariableStore store_;
  std::vector<LastingVariable> variables_;  ///< of the store
  StateVariables state_;
  VariableExchange exchange_;
  ParameterClient servers_;
  std::vector<const data::Feeder*> examples_;
  std::vector<float> message_;
  std::atomic<std::int64_t> generation_ = 0;  ///< number of writes
  const std::size_t outputs_, metric_sums_;
  std::int64_t updates_ = 0;   ///< number of updates given to workers
  std::int64_t snapshot_ = 0;  ///< number of changes of the variables
  bool is_training_ = false;   ///< steps that change the variables are open
  bool is_outdated_ = false;   ///< whether the store is outdated
  std::atomic<bool> has_ended_ = false;
  std::vector<StepSums> collected_, taken_;
  std::vector<std::int64_t> staleness_;  ///< number of pushes by staleness
};

StoreOptions store_options(const ParameterServerParts& parts) {
  StoreOptions options;
  options.policies = parts.policies;
  return options;
}

ParameterServerStrategy::ParameterServerStrategy(const Model& model, ParameterServerParts parts,
                                                 DispatchService& dispatch)
    : parts_(std::move(parts)),
      dispatch_(dispatch),
      topology_(one_replica()),  // on any worker, which computes each step
      device_(make_cpu_device(0, 1, {})),
      store_(model, store_options(parts_), *device_),
      variables_(lasting_variables(store_, Lasting::kAll)),
      state_(parts_.state, 1, true, *device_),
      exchange_(parts_.placement),
      servers_(parts_.placement, parts_.servers, parts_.security, parts_.timeout_seconds),
      message_(static_cast<std::size_t>(parts_.placement.elements(Content::kState))),
      outputs_(model.outputs.size()),
      metric_sums_(model.metric_sums()) {
  dispatch_.set_server_check([this](int server) { return servers_.check(server, generation_); });
}

ParameterServerStrategy::~ParameterServerStrategy() { end(""); }

std::string ParameterServerStrategy::note() const {
  return fmt::format("parameter_server: {}", parts_.placement.text());
}

DispatchedStep ParameterServerStrategy::dispatched(const StepSpec& step) const {
  DispatchedStep order;
  const auto data_set = std::ranges::find(examples_, step.data_set);
  if (data_set == examples_.end()) throw Error("a step of a data set that was not prepared");
  order.data_set = static_cast<int>(data_set - examples_.begin());
  order.rows.assign(step.rows.begin(), step.rows.end());
  order.step = step.step;
  order.epoch = step.epoch;
  order.updates = step.updates;
  order.learning_rates = step.learning_rates;
  order.generation = generation_;
  return order;
}

void ParameterServerStrategy::train(const StepSpec& step) {
  if (!is_training_) dispatch_.dispatcher().wait();  // an evaluation reads the variables before further updates
  state_.write_step();
  dispatch_.dispatcher().give(dispatched(step));
  updates_ = std::max(updates_, step.updates);
  is_training_ = is_outdated_ = true;
}

void ParameterServerStrategy::evaluate(const StepSpec& step) {
  if (is_training_) collect();
  DispatchedStep order = dispatched(step);
  order.trains = false;
  order.snapshot = snapshot_;
  dispatch_.dispatcher().give(std::move(order));
}

/// Checks a worker's result, whose values are used as indices.
void ParameterServerStrategy::require(const StepResult& result) const {
  if (result.sums.metrics.size() != metric_sums_) {
    throw Error(fmt::format("a worker reported {} sums of metrics, expected {}; all tasks need the same configuration",
                            result.sums.metrics.size(), metric_sums_));
  }
  const std::int64_t staleness = result.staleness.value_or(0);
  if (staleness < 0 || staleness > updates_) {
    throw Error(
        fmt::format("a worker reported a staleness of {}, expected 0 to {}, the updates so far", staleness, updates_));
  }
  if (result.sums.losses.size() != outputs_) {
    throw Error(
        fmt::format("a worker reported the losses of {} outputs, expected {}; all tasks need the same "
                    "configuration",
                    result.sums.losses.size(), outputs_));
  }
}

/// Waits for all steps and collects their results.
void ParameterServerStrategy::collect() {
  for (StepResult& result : dispatch_.dispatcher().take()) {
    require(result);
    collected_.push_back(std::move(result.sums));
    if (!result.staleness) continue;
    const auto staleness = static_cast<std::size_t>(*result.staleness);
    if (staleness >= staleness_.size()) staleness_.resize(staleness + 1);
    ++staleness_[staleness];
  }
  if (is_training_) ++snapshot_;
  is_training_ = false;
}

std::span<const StepSums> ParameterServerStrategy::take_sums() {
  collect();
  taken_ = std::exchange(collected_, {});
  return taken_;
}

/// The store's variables with the servers' values.
const std::vector<LastingVariable>& ParameterServerStrategy::latest() {
  collect();
  if (is_outdated_) {
    servers_.pull(generation_, Content::kState, message_);
    for (const LastingVariable& variable : variables_) exchange_.read(Content::kState, message_, variable);
    is_outdated_ = false;
  }
  return variables_;
}

void ParameterServerStrategy::read_variables(Lasting, const VariableVisit& visit) {
  std::ranges::for_each(latest(), visit);
}

void ParameterServerStrategy::change_variables(Lasting, const VariableVisit& visit) {
  for (const LastingVariable& variable : latest()) {
    visit(variable);
    exchange_.write(Content::kState, variable, message_);
  }
  servers_.write(generation_ + 1, message_);
  ++generation_;
  ++snapshot_;
}

/// Called on any thread: ends the chief's waits.
void ParameterServerStrategy::abort(const std::string& reason) {
  dispatch_.dispatcher().fail(reason);
  end(reason);
}

void ParameterServerStrategy::end(const std::string& failure) {
  if (has_ended_.exchange(true)) return;
  if (failure.empty()) {
    dispatch_.end(failure);
    return servers_.end(failure);
  }
  // Concurrently: a server that hangs delays both.
  const auto servers = std::async(std::launch::async, [&] { servers_.end(failure); });
  dispatch_.end(failure);
}

}  // namespace

std::unique_ptr<Strategy> make_parameter_server_strategy(const Model& model, ParameterServerParts parts,
                                                         DispatchService& dispatch) {
  return std::make_unique<ParameterServerStrategy>(model, std::move(parts), dispatch);
}

}  // namespace mirrortrain
