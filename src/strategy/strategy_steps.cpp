// What a step's actions do.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "strategy/strategy.h"

namespace mirrortrain {

void Strategy::train(const TrainBatch& batch) {
  step_start_ = StepPlan::Clock::now();
  require_room();
  const StepPlan::StepOfKind kind{batch.examples, static_cast<std::int64_t>(batch.rows.size()), batch.update.gradients,
                                  batch.update.applies};
  if (kind != kind_) enqueue_deferred();
  kind_ = kind;
  batch_ = batch;
  batch_.update.examples = kind.examples;
  update_scalars_ = mirrors_->begin_update(batch_.update);
  if (backend_->shares_host_memory()) choose_written_values();
  slot_ = pending_.size();
  pending_.push_back({kind.examples, std::nullopt});
  if (!device_exchanges_.empty()) is_settling_ = ++steps_of_kind_[kind] <= StepPlan::kStepsToSettle;
  if (!bursts_) return run_lanes(run_train_);

  fill_inputs(*lanes_[0]);
  write_on_host(0);
  ++deferred_;
  if (!train_plans_[0].has_run(kind) || pending_.size() % StepBursts::kSteps == 0) enqueue_deferred();
}

/// Steps whose inputs are there and that wait for more of their kind.
void Strategy::enqueue_deferred() {
  if (deferred_ == StepBursts::kSteps) {
    enter_thread();
    bursts_->enqueue(kind_, pending_.size() - deferred_, [this] { train_plans_[0].run_fixed(); });
    deferred_ = 0;
  }
  for (; deferred_ > 0; --deferred_) {
    slot_ = pending_.size() - deferred_;
    run_lanes(run_train_);
  }
}

void Strategy::begin_evaluation() {
  const VariableStore& host = variables();
  host.fill_evaluation_copies();
  evaluation_regularization_ = host.regularization();
  run_lanes([this](int lane) {
    mirrors_->take_evaluation_copies(lane, lanes_[static_cast<std::size_t>(lane)]->stream());
    refresh_derived_copies(lane, false);
  });
}

void Strategy::evaluate(const EvaluationBatch& batch) {
  require_room();
  enqueue_deferred();
  slot_ = pending_.size();
  batch_ = {batch.examples, batch.rows, 0, {}};
  pending_.push_back({static_cast<std::int64_t>(batch.rows.size()), evaluation_regularization_});
  kind_ = {batch.examples, static_cast<std::int64_t>(batch.rows.size()), 0, false};
  run_lanes(run_evaluation_);
}

void Strategy::require_room() const {
  if (must_take_sums()) throw Error("the sums of earlier steps must be taken before the next one");
}

/// The calling thread may have driven another strategy's GPU meanwhile, and kernels go to the thread's own.
void Strategy::enter_thread() const {
  if (!backend_->shares_host_memory()) lanes_[0]->device().enter_thread();
}

void Strategy::run_lanes(const std::function<void(int)>& work) {
  enter_thread();
  try {
    team_->run(work);
  } catch (const std::exception& error) {
    abort_exchanges(error.what());
    throw;
  }
}

/// Where a lane failed, the others' streams may wait for it, and whoever destroys them would wait for ever.
void Strategy::abort_exchanges(const char* reason) {
  for (Communicator* const rank : communicators_.ranks) rank->abort(reason);
}

void Strategy::synchronize() {
  enqueue_deferred();
  if (device_exchanges_.empty()) {
    for (const auto& lane : lanes_) lane->stream().synchronize();
    return;
  }
  try {
    for (std::size_t i = 0; i < lanes_.size(); ++i) device_exchanges_[i]->synchronize(lanes_[i]->stream());
  } catch (const std::exception& error) {
    abort_exchanges(error.what());
    throw;
  }
}

std::span<const Sums> Strategy::take_sums() {
  const std::size_t steps = pending_.size();
  synchronize();
  for (std::size_t slot = 0; slot < steps; ++slot) add_up(slot);
  pending_.clear();
  return {sums_.data(), steps};
}

/// In the order of the replicas, whichever lanes they are on.
void Strategy::add_up(std::size_t slot) {
  Sums& sums = sums_[slot];
  sums.clear();
  sums.examples = pending_[slot].examples;
  if (model_.layers.empty()) return;
  for (std::size_t r = 0; r < replicas_.size(); ++r) {
    const Lane& lane = *lanes_[lane_of_[r]];
    const std::span<const double> own = lane.sums().replica(slot, replicas_[r]->in_lane);
    sums.loss += own[0];
    for (std::size_t i = 0; i < sums.metrics.size(); ++i) sums.metrics[i] += own[1 + i];
  }
  const double regularization = pending_[slot].regularization.value_or(lanes_[0]->sums().regularization(slot));
  sums.loss += regularization * static_cast<double>(sums.examples);
}

WeightUpdate::LaneShare Strategy::share_of(int lane) const {
  const auto index = static_cast<std::size_t>(lane);
  Lane& own = *lanes_[index];
  const bool alone = mirrors_->apart();  // its memory is its own
  return {alone ? 0 : lane,
          alone ? 1 : static_cast<int>(lanes_.size()),
          placement_.lanes[index].threads,
          own.replicas_in_mirror(),
          &own.stream(),
          own.inputs().update(),
          own.norms()};
}

RowRange Strategy::rows_of(const Replica& replica) const {
  return rows_of_replica(static_cast<std::int64_t>(batch_.rows.size()), replica.index, placement_.replicas);
}

void Strategy::fill_inputs(Lane& lane) {
  const StepInputs::Slot slot = lane.inputs().slot(slot_);
  for (const Replica& replica : lane.replicas()) {
    // The loss is divided by the global examples, so what the replicas give just adds up.
    slot.replicas[static_cast<std::size_t>(replica.in_lane)] = {seed_, batch_.step, rows_of(replica).first,
                                                                static_cast<std::int64_t>(batch_.rows.size())};
  }
  std::fill(slot.update.begin(), slot.update.end(), update_scalars_);
  if (lane.examples() == nullptr || batch_.examples == nullptr) return;
  auto next = slot.rows.begin();
  for (const Replica& replica : lane.replicas()) {
    const RowRange own = rows_of(replica);
    next = std::copy_n(batch_.rows.begin() + own.first, own.count, next);
  }
  lane.examples()->begin(lane.stream(), *batch_.examples, slot.rows.first(static_cast<std::size_t>(device_rows(lane))));
}

void Strategy::send_inputs(const Lane& lane) { lane.inputs().send(lane.stream(), slot_, device_rows(lane)); }

/// How many examples the lane's device picks itself.
std::int64_t Strategy::device_rows(const Lane& lane) const {
  if (lane.examples() == nullptr || batch_.examples == nullptr) return 0;
  std::int64_t rows = 0;
  for (const Replica& replica : lane.replicas()) rows += rows_of(replica).count;
  return rows;
}

/// The device converts the rows that it was told, of all replicas one after the other.
void Strategy::gather_on_device(Lane& lane, StepKind kind) {
  const std::int64_t* choice = lane.inputs().rows();
  for (Replica& replica : lane.replicas()) {
    const std::int64_t own = rows_of(replica).count;
    if (own == 0) continue;
    const ReplicaProgram& bound = replica.programs(kind).at(own);
    lane.examples()->gather(lane.stream(), *batch_.examples, choice, own, bound.features, bound.labels);
    choice += own;
  }
  lane.examples()->end(lane.stream());
}

void Strategy::gather_rows(Replica& replica, StepKind kind) {
  const RowRange rows = rows_of(replica);
  if (rows.count == 0) return;
  const ReplicaProgram& bound = replica.programs(kind).at(rows.count);
  batch_.examples->fill(batch_.rows.subspan(static_cast<std::size_t>(rows.first), static_cast<std::size_t>(rows.count)),
                        bound.features, bound.labels);
}

void Strategy::run_program(Lane& lane, Replica& replica, StepKind kind, std::size_t first, std::size_t last) {
  const RowRange rows = rows_of(replica);
  if (rows.count == 0) {
    // A replica without examples runs none: it adds nothing.
    const StepSums& sums = lane.sums();
    if (first == 0)
      lane.stream().zero(reinterpret_cast<std::byte*>(sums.replica(replica.in_lane)), sums.replica_bytes());
    return;
  }
  BoundProgram& program = replica.programs(kind).at(rows.count).program;
  last = std::min(last, program.steps());
  if (first >= last) return;
  try {
    program.enqueue(lane.stream(), first, last);
  } catch (const Error& error) {
    throw Error(fmt::format("replica {} on {}: {}", replica.index, lane.device().id().text(), error.what()));
  }
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

void Strategy::write_on_host(int lane) {
  for (std::size_t i = static_cast<std::size_t>(lane); i < writes_.size(); i += lanes_.size()) writes_[i].run();
}

/// The model's assignments where the host does not see the variables.
void Strategy::write_on_device(int lane) {
  Lane& own = *lanes_[static_cast<std::size_t>(lane)];
  for (std::size_t i = 0; i < model_.training.assignments.size(); ++i) {
    const DistributedVariable& variable =
        mirrors_->of_lane(lane).variables.variables()[model_.training.assignments[i].variable];
    if (!variable.policy().copies_can_differ()) {
      write_shared(lane, variable, i);
      continue;
    }
    for (const Replica& replica : own.replicas()) {
      if (rows_of(replica).count == 0) continue;
      own.stream().copy(variable.data(replica.in_mirror), replica.assigned_values[i], variable.bytes());
    }
  }
}

/// The replicas' values as one. A replica without examples writes what is there.
void Strategy::write_shared(int lane, const DistributedVariable& variable, std::size_t assignment) {
  Lane& own = *lanes_[static_cast<std::size_t>(lane)];
  const Aggregation aggregation = variable.policy().aggregation;
  const float share = aggregation == Aggregation::kMean ? 1.0f / static_cast<float>(placement_.replicas) : 1.0f;
  auto* const value = reinterpret_cast<float*>(variable.data(0));
  auto& sources = written_[static_cast<std::size_t>(lane)];
  sources.clear();
  for (const Replica& replica : own.replicas()) {
    const bool counts = aggregation != Aggregation::kOnlyFirstReplica || replica.index == 0;
    const auto* const written = reinterpret_cast<const float*>(replica.assigned_values[assignment]);
    sources.push_back({rows_of(replica).count > 0 ? written : value, counts ? share : 0});
  }
  const std::int64_t elements = variable.shape().elements();
  backend_->step_kernels().sum_sources(own.stream(), sources, value, 0, elements);
  if (!device_exchanges_.empty()) {
    device_exchanges_[static_cast<std::size_t>(lane)]->all_reduce(own.stream(), value, elements);
    meet_while_settling();
  }
}

void Strategy::refresh_derived_copies(int lane, bool updated) {
  Lane& own = *lanes_[static_cast<std::size_t>(lane)];
  const WeightUpdate::LaneShare share = share_of(lane);
  mirrors_->of_lane(lane).derived.refresh(own.stream(), share.lane, share.lanes, updated);
}

}  // namespace mirrortrain
