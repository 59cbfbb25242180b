#include "strategy/strategy.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "kernels/cpu/registry.h"

namespace mirrortrain {
namespace {

cpu::UpdateRule kernel_rule(const UpdateRule& rule) {
  switch (rule.kind) {
    case UpdateRule::Kind::kSgd: return scalar::Sgd{};
    case UpdateRule::Kind::kSgdMomentum: return scalar::SgdMomentum<false>{rule.momentum};
    case UpdateRule::Kind::kSgdNesterov: return scalar::SgdMomentum<true>{rule.momentum};
    case UpdateRule::Kind::kAdam: return scalar::Adam<false>{rule.beta_1, rule.beta_2, rule.epsilon};
    case UpdateRule::Kind::kAdamW: return scalar::Adam<true>{rule.beta_1, rule.beta_2, rule.epsilon, rule.weight_decay};
  }
  throw Error("unknown update rule");
}

/// The elements [begin, end) that a lane updates, in whole chunks.
std::pair<std::int64_t, std::int64_t> shard_of_lane(std::int64_t elements, int lane, int lanes) {
  const std::int64_t chunks = (elements + cpu::kUpdateChunk - 1) / cpu::kUpdateChunk;
  const auto edge = [&](int i) { return std::min(elements, chunks * i / lanes * cpu::kUpdateChunk); };
  return {edge(lane), edge(lane + 1)};
}

}  // namespace

Strategy::Strategy(Placement placement, const Model& model, const UpdateRule& rule, std::uint64_t seed,
                   double timeout_seconds)
    : placement_(std::move(placement)),
      model_(model),
      rule_(kernel_rule(rule)),
      seed_(seed),
      sums_(model.metric_names.size()) {
  std::vector<Device*> devices;
  for (const LanePlacement& lane : placement_.lanes) {
    lanes_.push_back(std::make_unique<Lane>(lane, model));
    devices.push_back(&lanes_.back()->device());
  }
  replicas_.resize(static_cast<std::size_t>(placement_.replicas));
  for (const auto& lane : lanes_) {
    for (Replica& replica : lane->replicas()) replicas_[static_cast<std::size_t>(replica.index)] = &replica;
  }
  const auto slots = static_cast<int>(rule.slots().size());
  variables_ = std::make_unique<VariableStore>(model, placement_.replicas, slots, *devices.front());
  derived_ = std::make_unique<DerivedCopies>(*devices.front());
  for (int r = 0; r < placement_.replicas; ++r) sources_.push_back({variables_->group_gradient(r), 0});
  team_ = std::make_unique<LaneTeam>(devices, placement_.cores_of_their_own, timeout_seconds);

  for (int lane = 0; lane < static_cast<int>(lanes_.size()); ++lane) {
    train_plans_.push_back(train_plan(lane));
    evaluation_plans_.push_back(evaluation_plan(lane));
  }
  run_train_ = [this](int lane) { run_plan(train_plans_[static_cast<std::size_t>(lane)]); };
  run_evaluation_ = [this](int lane) { run_plan(evaluation_plans_[static_cast<std::size_t>(lane)]); };
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
  variables_changed();
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
  batch_ = batch;
  team_->run(run_train_);
  return sums_;
}

void Strategy::begin_evaluation() {
  variables_->fill_evaluation_copies();
  cpu::regularization_sums(variables_->group(), 0, variables_->group_elements());
  evaluation_regularization_ = variables_->regularization();
}

const Sums& Strategy::evaluate(const EvaluationBatch& batch) {
  batch_ = {batch.examples, batch.rows, 0, 0, 0};
  team_->run(run_evaluation_);
  return sums_;
}

Strategy::Plan Strategy::train_plan(int lane) {
  Plan plan;
  Lane& own = *lanes_[static_cast<std::size_t>(lane)];
  add_replica_actions(plan, own, StepKind::kTrain);
  add_meeting(plan);  // every gradient is there, every variable was read for the last time
  plan.push_back({"update", [this, lane] { update_shard(lane); }});
  for (Replica& replica : own.replicas()) {
    plan.push_back({"assign variables", [this, &replica] { assign_variables(replica); }});
  }
  add_meeting(plan);  // every variable is written
  plan.push_back({"refresh derived copies", [this, lane] { refresh_derived_copies(lane); }});
  if (lane == 0) plan.push_back({"add sums", [this] { add_sums(variables_->regularization()); }});
  return plan;
}

Strategy::Plan Strategy::evaluation_plan(int lane) {
  Plan plan;
  Lane& own = *lanes_[static_cast<std::size_t>(lane)];
  add_replica_actions(plan, own, StepKind::kEvaluate);
  add_meeting(plan);
  if (lane == 0) plan.push_back({"add sums", [this] { add_sums(evaluation_regularization_); }});
  return plan;
}

void Strategy::add_replica_actions(Plan& plan, Lane& lane, StepKind kind) {
  for (Replica& replica : lane.replicas()) {
    plan.push_back({"gather rows", [this, &replica, kind] { gather_rows(replica, kind); }});
    plan.push_back({"run program", [this, &lane, &replica, kind] { run_program(lane, replica, kind); }});
  }
}

void Strategy::run_plan(Plan& plan) {
  using Clock = std::chrono::steady_clock;
  for (Action& action : plan) {
    const auto start = profiling_ ? Clock::now() : Clock::time_point{};
    action.run();
    if (profiling_) action.seconds += std::chrono::duration<double>(Clock::now() - start).count();
  }
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

void Strategy::run_program(Lane& lane, Replica& replica, StepKind kind) {
  const RowRange rows = rows_of(replica);
  // Its gradient is of the loss divided by the global examples, so what the replicas give just adds up.
  sources_[static_cast<std::size_t>(replica.index)].scale = rows.count > 0 ? 1.0f : 0.0f;
  if (rows.count == 0) {
    lane.stream().zero(replica.sums.data(), replica.sums.bytes());
    return;
  }
  *replica.scalars = {seed_, batch_.step, rows.first, static_cast<std::int64_t>(batch_.rows.size())};
  replica.programs(kind).at(rows.count).program.enqueue(lane.stream());
}

void Strategy::add_meeting(Plan& plan) {
  plan.push_back({"meet", [this] { team_->meet(); }});
}

void Strategy::update_shard(int lane) {
  const auto [begin, end] = shard_of_lane(variables_->group_elements(), lane, static_cast<int>(lanes_.size()));
  cpu::update(rule_, variables_->group(), sources_, static_cast<float>(batch_.learning_rate), batch_.updates, begin,
              end);
}

void Strategy::assign_variables(Replica& replica) {
  // A replica without examples keeps its statistics.
  if (sources_[static_cast<std::size_t>(replica.index)].scale == 0) return;
  const float* value = replica.assigned.as<float>();
  for (const Assignment& assignment : model_.training.assignments) {
    const std::span<float> copy = variables_->variables()[assignment.variable].copy(replica.index);
    std::copy_n(value, copy.size(), copy.begin());
    value += copy.size();
  }
}

void Strategy::add_sums(double regularization) {
  sums_.clear();
  sums_.examples = static_cast<std::int64_t>(batch_.rows.size());
  for (const Replica* replica : replicas_) {
    const double* own = replica->sums.as<double>();
    sums_.loss += own[0];
    for (std::size_t i = 0; i < sums_.metrics.size(); ++i) sums_.metrics[i] += own[1 + i];
  }
  sums_.loss += regularization * static_cast<double>(sums_.examples);
}

void Strategy::profile() {
  profiling_ = true;
  for (Replica* replica : replicas_) {
    for (auto& [rows, bound] : replica->train) bound.program.profile();
  }
}

std::vector<Strategy::ActionTime> Strategy::action_times(int lane) const {
  std::vector<ActionTime> times;
  for (const Action& action : train_plans_[static_cast<std::size_t>(lane)])
    times.push_back({action.name, action.seconds});
  return times;
}

std::vector<BoundProgram::StepTime> Strategy::step_times(int replica) const {
  const auto& programs = replicas_[static_cast<std::size_t>(replica)]->train;
  return programs.empty() ? std::vector<BoundProgram::StepTime>{} : programs.rbegin()->second.program.step_times();
}

}  // namespace mirrortrain
