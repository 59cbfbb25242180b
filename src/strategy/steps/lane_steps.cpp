// What a step's actions do; their order is in lane_plans.cpp.
#include "strategy/steps/lane_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "strategy/variables/gradient_scales.h"

namespace mirrortrain {
namespace {

DomainLane place_in_domain(int index, const Lane& lane, const DomainPlace& domain, LaneTeam& team) {
  DomainLane own;
  own.index = static_cast<int>(std::ranges::find(domain.lanes, index) - domain.lanes.begin());
  own.lanes = static_cast<int>(domain.lanes.size());
  own.threads = lane.device().threads();
  own.replicas = lane.replicas_in_domain();
  own.stream = &lane.stream();
  own.barrier = own.lanes > 1 ? team.barrier() : nullptr;  // such a domain has all lanes of the process
  own.params = lane.buffers().params();
  own.norms = lane.norms();
  return own;
}

}  // namespace

LaneSteps::LaneSteps(int index, Lane& lane, MemoryDomain& domain, const DomainReduction& reduction,
                     const LaneSurroundings& around)
    : lane_(lane),
      domain_(domain),
      reduction_(reduction),
      around_(around),
      step_(around.step),
      own_(place_in_domain(index, lane, domain.place, around.team)),
      scales_(domain.place.replicas.size()) {
  for (const LaneReplica& one : around_.replicas) {
    if (std::ranges::count(domain.place.replicas, one.replica->index) > 0) domain_replicas_.push_back(one);
  }
  assigned_.reserve(domain_replicas_.size());
  training_ = training_plan();
  evaluation_ = evaluation_plan();
}

void LaneSteps::train(StepPlan::Clock::time_point start, const StepKey& key) {
  const double before = own_.waited_seconds;
  training_.run(start, key);
  waited_in_training_ += own_.waited_seconds - before;
}

double LaneSteps::take_waiting_share() {
  const double share =
      training_.seconds() > 0 ? (training_.late_seconds() + waited_in_training_) / training_.seconds() : 0;
  training_.reset_seconds();
  waited_in_training_ = 0;
  return share;
}

void LaneSteps::profile() {
  training_.profile([this] { reduction_.synchronize(lane_.stream()); });
}

RowRange LaneSteps::rows_of(const Replica& replica) const {
  return rows_of_replica(step_.key.examples, replica.index, around_.topology.replicas);
}

/// How many examples the lane's device gathers itself.
std::int64_t LaneSteps::device_rows() const {
  if (lane_.examples() == nullptr || step_.spec.examples == nullptr) return 0;
  std::int64_t rows = 0;
  for (const Replica& replica : lane_.replicas()) rows += rows_of(replica).count;
  return rows;
}

void LaneSteps::fill_inputs() const {
  const StepSpec& spec = step_.spec;
  const StepBuffers::Inputs inputs = lane_.buffers().inputs(step_.slot);
  std::ranges::fill(inputs.params, step_.params);
  for (const Replica& replica : lane_.replicas()) {
    StepParams& params = inputs.params[1 + static_cast<std::size_t>(replica.in_lane)];
    params.seed = around_.seed;
    params.step = spec.step;
    params.first_row = rows_of(replica).first;
    params.global_examples = step_.key.examples;  // the loss is divided by it, so what the replicas give just adds up
  }
  if (lane_.examples() == nullptr || spec.examples == nullptr) return;
  auto next = inputs.rows.begin();
  for (const Replica& replica : lane_.replicas()) {
    const RowRange own = rows_of(replica);
    next = std::copy_n(spec.rows.begin() + own.first, own.count, next);
  }
  lane_.examples()->begin(lane_.stream(), *spec.examples, inputs.rows.first(static_cast<std::size_t>(device_rows())),
                          spec.epoch);
}

/// The device converts the rows that it was told, of all replicas one after the other.
void LaneSteps::gather_on_device(StepKind kind) const {
  const std::int64_t* choice = lane_.buffers().rows();
  for (Replica& replica : lane_.replicas()) {
    const std::int64_t own = rows_of(replica).count;
    if (own == 0) continue;
    const ReplicaProgram& bound = replica.programs(kind).at(own);
    lane_.examples()->gather(lane_.stream(), *step_.spec.examples, choice, own,
                             {bound.features, bound.labels, bound.weights});
    choice += own;
  }
  lane_.examples()->end(lane_.stream());
}

void LaneSteps::gather_rows(Replica& replica, StepKind kind) const {
  const RowRange rows = rows_of(replica);
  if (rows.count == 0) return;
  const ReplicaProgram& bound = replica.programs(kind).at(rows.count);
  const auto first = static_cast<std::size_t>(rows.first), count = static_cast<std::size_t>(rows.count);
  step_.spec.examples->fill(step_.spec.rows.subspan(first, count), bound.features, bound.labels, bound.weights,
                            step_.spec.epoch);
}

void LaneSteps::run_program(Replica& replica, StepKind kind, std::size_t first, std::size_t last) const {
  const RowRange rows = rows_of(replica);
  if (rows.count == 0) return run_without_rows(replica, kind, first, last);
  BoundProgram& program = replica.programs(kind).at(rows.count).program;
  last = std::min(last, program.steps());
  if (first >= last) return;
  try {
    program.enqueue(lane_.stream(), first, last);
  } catch (const Error& error) {
    throw Error(fmt::format("replica {} on {}: {}", replica.index, lane_.device().id().text(), error.what()));
  }
}

/// A replica without examples adds nothing, and assigns what follows from the others' alone.
void LaneSteps::run_without_rows(Replica& replica, StepKind kind, std::size_t first, std::size_t last) const {
  Stream& stream = lane_.stream();
  const ReplicaSums& shared = *reduction_.sums;
  if (first == 0) {
    const StepBuffers& buffers = lane_.buffers();
    stream.zero(reinterpret_cast<std::byte*>(buffers.sums(replica.in_lane)), buffers.replica_bytes());
    for (std::size_t sum = 0; kind == StepKind::kTrain && sum < shared.size(); ++sum) {
      const auto bytes = static_cast<std::size_t>(shared.count(sum)) * sizeof(double);
      stream.zero(reinterpret_cast<std::byte*>(shared.own(sum, replica.in_domain)), bytes);
    }
  }
  if (kind == StepKind::kTrain && last == kToTheEnd && replica.without_rows) replica.without_rows->enqueue(stream);
}

void LaneSteps::sum_over_replicas(std::size_t sum) {
  reduction_.sums->add(sum, own_, reduction_.reducer.get(), lane_.total(sum));
  if (reduction_.link != nullptr) meet_while_settling();
}

void LaneSteps::reduce(const GradientBucket& bucket) {
  const std::vector<int>& replicas = domain_.place.replicas;
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    scales_[r] = gradient_scale(bucket.aggregation, replicas[r], step_.key.examples, around_.topology.replicas);
  }
  reduction_.reducer->start(lane_.stream(), bucket, scales_, own_);
  meet_while_settling();
}

/// Of the losses and gradients of the lane's domain.
bool LaneSteps::is_finite_here() const {
  for (const auto& [lane, replica] : domain_replicas_) {
    double loss = 0;
    lane_.stream().copy(reinterpret_cast<std::byte*>(&loss),
                        reinterpret_cast<const std::byte*>(lane->buffers().sums(replica->in_lane)), sizeof loss);
    lane_.stream().synchronize();
    if (!std::isfinite(loss)) return false;
  }
  return domain_.update.gradients_are_finite(lane_.stream());
}

/// Every lane of the run finds the same.
void LaneSteps::find_non_finite() {
  own_.meet();         // every gradient is accumulated
  double domains = 0;  // with a number that is not finite
  auto* const number = reinterpret_cast<std::byte*>(&domains);
  auto* const of_domain = reinterpret_cast<std::byte*>(domain_replicas_.front().lane->norms());
  if (own_.is_first()) {
    domains = is_finite_here() ? 0 : 1;
    lane_.stream().copy(of_domain, number, sizeof domains);
    if (reduction_.link != nullptr) {
      reduction_.link->sum_number(lane_.stream(), reinterpret_cast<double*>(of_domain), "numbers that are not finite");
      meet_while_settling();
    }
  }
  own_.meet();
  lane_.stream().copy(number, of_domain, sizeof domains);
  reduction_.synchronize(lane_.stream());
  skips_ = domains > 0 || step_.spec.skips;
  own_.meet();
}

/// What the norm has of variables that replicas do not share, of all domains.
void LaneSteps::add_squares_of_domains() {
  if (!step_.key.applies) return;
  if (own_.is_first()) {
    reduction_.link->sum_number(lane_.stream(), lane_.norms(), "squares of the replicas' own gradients");
    meet_while_settling();
  }
  own_.meet();
  // Lanes of one domain are in host memory.
  if (!own_.is_first()) *lane_.norms() = *domain_replicas_.front().lane->norms();
  own_.meet();
}

/// A replica without examples keeps the statistics of its own examples.
bool LaneSteps::assigns(const Replica& replica, std::size_t assignment) const {
  return rows_of(replica).count > 0 || lane_.is_assigned_without_rows(assignment);
}

/// What the model's layers assign.
void LaneSteps::write_variables() {
  const std::vector<Assignment>& assignments = around_.model.training.assignments;
  for (std::size_t i = 0; i < assignments.size(); ++i) {
    const DistributedVariable& variable = domain_.variables.variables()[assignments[i].variable];
    if (!variable.policy().copies_can_differ()) {
      if (own_.is_first()) write_shared(variable, i);
      continue;
    }
    for (const Replica& replica : lane_.replicas()) {
      if (!assigns(replica, i)) continue;
      lane_.stream().copy(variable.data(replica.in_domain), replica.assigned_values[i], variable.bytes());
    }
  }
}

/// The replicas' values as one. A replica without examples writes the variable's own value.
void LaneSteps::write_shared(const DistributedVariable& variable, std::size_t assignment) {
  const std::span<float> value(reinterpret_cast<float*>(variable.data(0)),
                               static_cast<std::size_t>(variable.shape().elements()));
  assigned_.clear();
  for (const auto& [lane, replica] : domain_replicas_) {
    const auto* const assigned = reinterpret_cast<const float*>(replica->assigned_values[assignment]);
    assigned_.push_back(assigns(*replica, assignment) ? assigned : value.data());
  }
  reduction_.assigned->write(lane_.stream(), variable.policy().aggregation, around_.topology.replicas, assigned_, value,
                             variable.name());
  if (reduction_.link != nullptr) meet_while_settling();
}

void LaneSteps::renew_derived_copies() {
  own_.meet();
  refresh_derived_copies(false);
}

void LaneSteps::refresh_derived_copies(bool updated) const {
  domain_.derived.refresh(lane_.stream(), own_.index, own_.lanes, updated);
}

/// In the first steps of a kind kernels are loaded and recordings made, for which CUDA may wait for all that runs on a
/// GPU and keep every thread out meanwhile. An operation that waits for another lane must not be among that: so all
/// lanes enqueue it before any continues.
void LaneSteps::meet_while_settling() const {
  if (step_.is_settling) around_.team.meet();
}

}  // namespace mirrortrain
