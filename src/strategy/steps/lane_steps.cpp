// What a step's actions do; their order is in lane_plans.cpp.
#include "strategy/steps/lane_steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace mirrortrain {

LaneSteps::LaneSteps(int index, Lane& lane, Mirror& mirror, DeviceExchange* across, const LaneSurroundings& around)
    : index_(index),
      lane_(lane),
      mirror_(mirror),
      across_(across),
      around_(around),
      step_(around.step),
      training_(training_plan()),
      evaluation_(evaluation_plan()) {}

void LaneSteps::profile() {
  training_.profile([this] {
    if (across_ != nullptr) return across_->synchronize(lane_.stream());
    lane_.stream().synchronize();
  });
}

RowRange LaneSteps::rows_of(const Replica& replica) const {
  return rows_of_replica(step_.kind.examples, replica.index, around_.placement.replicas);
}

/// How many examples the lane's device picks itself.
std::int64_t LaneSteps::device_rows() const {
  if (lane_.examples() == nullptr || step_.batch.examples == nullptr) return 0;
  std::int64_t rows = 0;
  for (const Replica& replica : lane_.replicas()) rows += rows_of(replica).count;
  return rows;
}

void LaneSteps::fill_inputs() const {
  const TrainBatch& batch = step_.batch;
  const StepInputs::Slot slot = lane_.inputs().slot(step_.slot);
  for (const Replica& replica : lane_.replicas()) {
    // The loss is divided by the global examples, so what the replicas give just adds up.
    slot.replicas[static_cast<std::size_t>(replica.in_lane)] = {around_.seed, batch.step, rows_of(replica).first,
                                                                step_.kind.examples};
  }
  std::fill(slot.update.begin(), slot.update.end(), step_.update_scalars);
  if (lane_.examples() == nullptr || batch.examples == nullptr) return;
  auto next = slot.rows.begin();
  for (const Replica& replica : lane_.replicas()) {
    const RowRange own = rows_of(replica);
    next = std::copy_n(batch.rows.begin() + own.first, own.count, next);
  }
  lane_.examples()->begin(lane_.stream(), *batch.examples, slot.rows.first(static_cast<std::size_t>(device_rows())));
}

/// The device converts the rows that it was told, of all replicas one after the other.
void LaneSteps::gather_on_device(StepKind kind) const {
  const std::int64_t* choice = lane_.inputs().rows();
  for (Replica& replica : lane_.replicas()) {
    const std::int64_t own = rows_of(replica).count;
    if (own == 0) continue;
    const ReplicaProgram& bound = replica.programs(kind).at(own);
    lane_.examples()->gather(lane_.stream(), *step_.batch.examples, choice, own, bound.features, bound.labels);
    choice += own;
  }
  lane_.examples()->end(lane_.stream());
}

void LaneSteps::gather_rows(Replica& replica, StepKind kind) const {
  const RowRange rows = rows_of(replica);
  if (rows.count == 0) return;
  const ReplicaProgram& bound = replica.programs(kind).at(rows.count);
  const auto first = static_cast<std::size_t>(rows.first), count = static_cast<std::size_t>(rows.count);
  step_.batch.examples->fill(step_.batch.rows.subspan(first, count), bound.features, bound.labels);
}

void LaneSteps::run_program(Replica& replica, StepKind kind, std::size_t first, std::size_t last) const {
  const RowRange rows = rows_of(replica);
  if (rows.count == 0) {
    // A replica without examples runs none: it adds nothing.
    const StepSums& sums = lane_.sums();
    if (first == 0)
      lane_.stream().zero(reinterpret_cast<std::byte*>(sums.replica(replica.in_lane)), sums.replica_bytes());
    return;
  }
  BoundProgram& program = replica.programs(kind).at(rows.count).program;
  last = std::min(last, program.steps());
  if (first >= last) return;
  try {
    program.enqueue(lane_.stream(), first, last);
  } catch (const Error& error) {
    throw Error(fmt::format("replica {} on {}: {}", replica.index, lane_.device().id().text(), error.what()));
  }
}

void LaneSteps::write_on_host() const { around_.writes.run(index_, static_cast<int>(around_.placement.lanes.size())); }

/// The model's assignments where the host does not see the variables.
void LaneSteps::write_on_device() {
  const std::vector<Assignment>& assignments = around_.model.training.assignments;
  for (std::size_t i = 0; i < assignments.size(); ++i) {
    const DistributedVariable& variable = mirror_.variables.variables()[assignments[i].variable];
    if (!variable.policy().copies_can_differ()) {
      write_shared(variable, i);
      continue;
    }
    for (const Replica& replica : lane_.replicas()) {
      if (rows_of(replica).count == 0) continue;
      lane_.stream().copy(variable.data(replica.in_mirror), replica.assigned_values[i], variable.bytes());
    }
  }
}

/// The replicas' values as one. A replica without examples writes what is there.
void LaneSteps::write_shared(const DistributedVariable& variable, std::size_t assignment) {
  const Aggregation aggregation = variable.policy().aggregation;
  const float share = aggregation == Aggregation::kMean ? 1.0f / static_cast<float>(around_.placement.replicas) : 1.0f;
  auto* const value = reinterpret_cast<float*>(variable.data(0));
  written_.clear();
  for (const Replica& replica : lane_.replicas()) {
    const bool counts = aggregation != Aggregation::kOnlyFirstReplica || replica.index == 0;
    const auto* const written = reinterpret_cast<const float*>(replica.assigned_values[assignment]);
    written_.push_back({rows_of(replica).count > 0 ? written : value, counts ? share : 0});
  }
  const std::int64_t elements = variable.shape().elements();
  around_.backend.step_kernels().sum_sources(lane_.stream(), written_, value, 0, elements);
  if (across_ == nullptr) return;
  across_->all_reduce(lane_.stream(), value, elements, variable.name());
  meet_while_settling();
}

void LaneSteps::refresh_derived_copies(bool updated) const {
  const WeightUpdate::LaneShare own = share();
  mirror_.derived.refresh(lane_.stream(), own.lane, own.lanes, updated);
}

/// In the first steps of a kind kernels are loaded and recordings made, for which CUDA may wait for all that runs on a
/// GPU and keep every thread out meanwhile. An operation that waits for another lane must not be among that: so all
/// lanes enqueue it before any goes on.
void LaneSteps::meet_while_settling() const {
  if (step_.is_settling) around_.team.meet();
}

WeightUpdate::LaneShare LaneSteps::share() const {
  const auto& lanes = around_.placement.lanes;
  return {on_host() ? index_ : 0,
          on_host() ? static_cast<int>(lanes.size()) : 1,
          lanes[static_cast<std::size_t>(index_)].threads,
          lane_.replicas_in_mirror(),
          &lane_.stream(),
          lane_.inputs().update(),
          lane_.norms()};
}

}  // namespace mirrortrain
