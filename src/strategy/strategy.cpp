#include "strategy/strategy.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/cpu/registry.h"
#include "strategy/cross_device.h"

namespace mirrortrain {
Strategy::Strategy(Placement placement, const Model& model, const StrategyParts& parts)
    : placement_(std::move(placement)),
      model_(model),
      seed_(parts.seed),
      timeout_seconds_(parts.options.communication.timeout_seconds),
      sums_(model.metric_names.size()) {
  const CrossDevice cross_device = choose_cross_device(parts.options, placement_, parts.gradients.aggregation_method,
                                                       reduced_gradient_bytes(model, parts.policies));
  cross_device_note_ = cross_device.note;
  // A gradient that is kept for later, or handed around, has to be stored.
  if (!cross_device.reduction && !parts.gradients.accumulates()) {
    products_ = find_product_gradients(model, parts.policies);
  }
  std::vector<Device*> devices;
  for (const LanePlacement& lane : placement_.lanes) {
    lanes_.push_back(std::make_unique<Lane>(lane, model, products_));
    devices.push_back(&lanes_.back()->device());
  }
  replicas_.resize(static_cast<std::size_t>(placement_.replicas));
  for (const auto& lane : lanes_) {
    for (Replica& replica : lane->replicas()) replicas_[static_cast<std::size_t>(replica.index)] = &replica;
  }
  Device& memory = *devices.front();
  StoreOptions store{parts.policies,
                     placement_.replicas,
                     static_cast<int>(parts.rule.slots().size()),
                     parts.gradients.accumulates(),
                     {}};
  for (const ProductGradient& product : products_) store.without_gradient.push_back(product.variable);
  variables_ = std::make_unique<VariableStore>(model, store, memory);
  const bool one_plain_copy = parts.options.type == StrategyType::kOneDevice;
  state_ = std::make_unique<StateVariables>(parts.state, placement_.replicas, one_plain_copy, memory);
  derived_ = std::make_unique<DerivedCopies>(memory);
  if (cross_device.reduction) {
    exchange_.emplace(*variables_, *cross_device.reduction, parts.options.communication.bytes_per_pack.bytes);
    cross_device_note_ += fmt::format("; {} pack{}", exchange_->packs(), exchange_->packs() == 1 ? "" : "s");
  }
  update_ = std::make_unique<WeightUpdate>(*variables_, parts.rule, parts.gradients, exchange_.has_value());
  team_ = std::make_unique<LaneTeam>(devices, placement_.cores_of_their_own, 0);
  run_train_ = [this](int lane) { train_plans_[static_cast<std::size_t>(lane)].run(step_start_); };
  run_evaluation_ = [this](int lane) { evaluation_plans_[static_cast<std::size_t>(lane)].run(step_start_); };
}

void Strategy::prepare(const BatchSizes& sizes) {
  // Lanes build at the same time, each on its own thread: kernels take the thread's team from there.
  team_->run([&](int index) {
    Lane& lane = *lanes_[static_cast<std::size_t>(index)];
    RowCounts rows;
    for (const Replica& replica : lane.replicas()) {
      for (const std::int64_t size : sizes.train) {
        rows.train.insert(rows_of_replica(size, replica.index, placement_.replicas).count);
      }
      for (const std::int64_t size : sizes.evaluate) {
        rows.evaluate.insert(rows_of_replica(size, replica.index, placement_.replicas).count);
      }
    }
    lane.build(rows, cpu::kernel_registry());
  });
  for (const auto& lane : lanes_) lane->bind(*variables_, *derived_);
  add_products();
  add_model_writes();
  writes_.insert(writes_.end(), state_->writes().begin(), state_->writes().end());
  if (exchange_) order_packs();
  for (int lane = 0; lane < static_cast<int>(lanes_.size()); ++lane) {
    train_plans_.push_back(train_plan(lane));
    evaluation_plans_.push_back(evaluation_plan(lane));
  }
  variables_changed();
  team_->set_timeout(timeout_seconds_);  // building takes as long as it takes; steps are alike
}

void Strategy::add_products() {
  const Graph& graph = model_.training.graph;
  for (const ProductGradient& product : products_) {
    const Shape& shape = model_.variables[product.variable].spec.shape;
    const auto& place = variables_->place(product.variable);
    std::vector<cpu::ProductSource> sources(replicas_.size());
    for (const auto& lane : lanes_) {
      for (const Replica& replica : lane->replicas()) {
        sources[static_cast<std::size_t>(replica.index)] = {lane->operand(replica, product.x),
                                                            lane->operand(replica, product.dy), 0};
      }
    }
    update_->add_product(place.group, {place.first, shape[0], shape[1]}, std::move(sources),
                         graph.spec(product.dy).shape.elements() / shape[1]);
  }
}

/// The model's own writes; which values they take is chosen in each step.
void Strategy::add_model_writes() {
  for (const Assignment& assignment : model_.training.assignments) {
    const DistributedVariable& variable = variables_->variables()[assignment.variable];
    writes_.push_back({variable, WriteKind::kAssign, std::vector<const std::byte*>(replicas_.size())});
  }
}

void Strategy::order_packs() {
  exchange_->order([this](std::size_t variable) {
    // Programs of a graph have the same steps at every number of rows, so any lane's tells.
    for (const auto& lane : lanes_) {
      if (const auto complete = lane->gradient_complete_after(variable)) return *complete;
    }
    return std::size_t{0};
  });
}

MemoryForecast Strategy::memory() const {
  MemoryForecast forecast{variables_->bytes() + derived_->bytes(), 0};
  for (const auto& lane : lanes_) forecast.activations += lane->bytes();
  return forecast;
}

void Strategy::variables_changed() {
  team_->run([this](int lane) { refresh_derived_copies(lane); });
}

void Strategy::refresh_derived_copies(int lane) {
  derived_->refresh(lanes_[static_cast<std::size_t>(lane)]->stream(), lane, static_cast<int>(lanes_.size()));
}

const Sums& Strategy::train(const TrainBatch& batch) {
  step_start_ = StepPlan::Clock::now();
  batch_ = batch;
  batch_.update.examples = static_cast<std::int64_t>(batch.rows.size());
  update_->begin(batch_.update);
  choose_written_values();
  team_->run(run_train_);
  return sums_;
}

void Strategy::begin_evaluation() {
  variables_->fill_evaluation_copies();
  for (const VariableGroup& group : variables_->groups()) {
    cpu::regularization_sums(group.view(0), 0, group.elements());
  }
  evaluation_regularization_ = variables_->regularization();
  variables_changed();
}

const Sums& Strategy::evaluate(const EvaluationBatch& batch) {
  batch_ = {batch.examples, batch.rows, 0, {}};
  team_->run(run_evaluation_);
  return sums_;
}

WeightUpdate::LaneShare Strategy::share_of(int lane) const {
  const auto index = static_cast<std::size_t>(lane);
  const LanePlacement& placement = placement_.lanes[index];
  return {lane, static_cast<int>(lanes_.size()), placement.threads, placement.replicas};
}

RowRange Strategy::rows_of(const Replica& replica) const {
  return rows_of_replica(static_cast<std::int64_t>(batch_.rows.size()), replica.index, placement_.replicas);
}

void Strategy::gather_rows(Replica& replica, StepKind kind) {
  const RowRange rows = rows_of(replica);
  if (rows.count == 0) return;
  const ReplicaProgram& bound = replica.programs(kind).at(rows.count);
  batch_.examples->fill(batch_.rows.subspan(static_cast<std::size_t>(rows.first), static_cast<std::size_t>(rows.count)),
                        bound.features, bound.labels);
}

void Strategy::start_program(Lane& lane, Replica& replica) {
  const RowRange rows = rows_of(replica);
  // A replica without examples runs none: it adds nothing.
  if (rows.count == 0) return lane.stream().zero(replica.sums.data(), replica.sums.bytes());
  // The loss is divided by the global examples, so what the replicas give just adds up.
  *replica.scalars = {seed_, batch_.step, rows.first, static_cast<std::int64_t>(batch_.rows.size())};
}

void Strategy::run_program(Lane& lane, Replica& replica, StepKind kind, std::size_t first, std::size_t last) {
  const RowRange rows = rows_of(replica);
  if (rows.count == 0) return;
  BoundProgram& program = replica.programs(kind).at(rows.count).program;
  last = std::min(last, program.steps());
  if (first < last) program.enqueue(lane.stream(), first, last);
}

/// A replica without examples keeps its statistics: it writes what its copy holds.
void Strategy::choose_written_values() {
  for (std::size_t i = 0; i < model_.training.assignments.size(); ++i) {
    VariableWrite& write = writes_[i];
    for (std::size_t r = 0; r < replicas_.size(); ++r) {
      const Replica& replica = *replicas_[r];
      const bool runs = rows_of(replica).count > 0;
      write.values[r] = runs ? replica.assigned_values[i] : write.variable.data(replica.index);
    }
  }
}

void Strategy::write_variables(int lane) {
  for (std::size_t i = static_cast<std::size_t>(lane); i < writes_.size(); i += lanes_.size()) writes_[i].run();
}

void Strategy::add_sums(double regularization) {
  sums_.clear();
  sums_.examples = static_cast<std::int64_t>(batch_.rows.size());
  if (model_.layers.empty()) return;
  for (const Replica* replica : replicas_) {
    const double* own = replica->sums.as<double>();
    sums_.loss += own[0];
    for (std::size_t i = 0; i < sums_.metrics.size(); ++i) sums_.metrics[i] += own[1 + i];
  }
  sums_.loss += regularization * static_cast<double>(sums_.examples);
}

std::vector<double> Strategy::take_waiting_shares() {
  std::vector<double> shares;
  for (StepPlan& plan : train_plans_) {
    shares.push_back(plan.seconds() > 0 ? plan.waited_seconds() / plan.seconds() : 0);
    plan.reset_seconds();
  }
  return shares;
}

void Strategy::profile() {
  for (StepPlan& plan : train_plans_) plan.profile();
  for (Replica* replica : replicas_) {
    for (auto& [rows, bound] : replica->train) bound.program.profile();
  }
}

std::vector<StepPlan::ActionTime> Strategy::action_times(int lane) const {
  return train_plans_[static_cast<std::size_t>(lane)].action_times();
}

std::vector<BoundProgram::StepTime> Strategy::step_times(int replica) const {
  const auto& programs = replicas_[static_cast<std::size_t>(replica)]->train;
  return programs.empty() ? std::vector<BoundProgram::StepTime>{} : programs.rbegin()->second.program.step_times();
}

}  // namespace mirrortrain
