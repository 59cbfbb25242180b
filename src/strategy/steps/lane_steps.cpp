// What a step's actions do; their order is in lane_plans.cpp.
#include "strategy/steps/lane_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "strategy/variables/gradient_scales.h"

namespace mirrortrain {

LaneSteps::LaneSteps(int index, Lane& lane, MemoryDomain& domain, const DomainReduction& reduction,
                     const LaneSurroundings& around)
    : context_(index, lane, domain, reduction, around),
      inputs_(context_),
      finite_check_(context_),
      assigned_writes_(context_),
      scales_(domain.place.replicas.size()) {
  training_ = training_plan();
  evaluation_ = evaluation_plan();
}

void LaneSteps::train(StepPlan::Clock::time_point start, const StepKey& key) {
  const double before = context_.own.waited_seconds;
  training_.run(start, key);
  waited_in_training_ += context_.own.waited_seconds - before;
  if (context_.own.index == 0 && shares_programs())
    context_.around.working_lanes.step_took(std::chrono::duration<double>(StepPlan::Clock::now() - start).count());
}

double LaneSteps::take_waiting_share() {
  const double seconds = training_.seconds() + waited_at_end_;
  const double share =
      seconds > 0 ? (training_.late_seconds() + waited_in_training_ + waited_at_end_) / seconds : 0;
  training_.reset_seconds();
  waited_in_training_ = waited_at_end_ = 0;
  return share;
}

void LaneSteps::profile() {
  training_.profile([this] { context_.reduction.synchronize(context_.stream()); });
}

void LaneSteps::run_program(Replica& replica, StepKind kind, std::size_t first, std::size_t last) const {
  const ProgramSize size = context_.size_of(replica);
  if (size.rows == 0) return run_without_rows(replica, kind, first, last);
  BoundProgram& program = replica.programs(kind).at(size).program;
  last = std::min(last, program.steps());
  if (first >= last) return;
  try {
    program.enqueue(context_.stream(), first, last);
  } catch (const Error& error) {
    throw Error(fmt::format("replica {} on {}: {}", replica.index, context_.lane.device().id().text(), error.what()));
  }
}

/// A replica without examples adds nothing, and assigns what follows from the others' alone.
void LaneSteps::run_without_rows(Replica& replica, StepKind kind, std::size_t first, std::size_t last) const {
  Stream& stream = context_.stream();
  const ReplicaSums& shared = *context_.reduction.sums;
  if (first == 0) {
    const StepBuffers& buffers = context_.lane.buffers();
    stream.zero(reinterpret_cast<std::byte*>(buffers.sums(replica.in_lane)), buffers.replica_bytes());
    for (std::size_t sum = 0; kind == StepKind::kTrain && sum < shared.size(); ++sum) {
      const auto bytes = static_cast<std::size_t>(shared.count(sum)) * sizeof(double);
      stream.zero(reinterpret_cast<std::byte*>(shared.own(sum, replica.in_domain)), bytes);
    }
  }
  if (kind == StepKind::kTrain && last == kToTheEnd && replica.without_rows) replica.without_rows->enqueue(stream);
}

/// Its rows are gathered, then each kernel runs; a replica that never has rows ends at once.
std::size_t LaneSteps::pieces_of_replica() const {
  return 1 + std::max<std::size_t>(1, context_.lane.programs().kernels());
}

void LaneSteps::run_program_piece(std::size_t piece) {
  if (piece == 0) return inputs_.send();
  const std::size_t of_replica = pieces_of_replica();
  Replica& replica = context_.lane.replicas()[(piece - 1) / of_replica];
  const std::size_t kernel = (piece - 1) % of_replica;  // counted from 1
  if (kernel == 0) return inputs_.gather(replica, StepKind::kTrain);
  run_program(replica, StepKind::kTrain, kernel - 1, kernel + 1 == of_replica ? kToTheEnd : kernel);
}

/// While lanes rest, the scheduler chooses the cores of the others: of two runs side by side each would otherwise keep
/// its first lane on the same core, with the others free.
void LaneSteps::choose_cores() {
  const bool own = context_.around.working_lanes.all_work();
  if (own == on_own_cores_) return;
  context_.lane.device().keep_to_own_cores(own);
  on_own_cores_ = own;
}

void LaneSteps::sum_over_replicas(std::size_t sum) {
  context_.reduction.sums->add(sum, context_.own, context_.reduction.reducer.get(), context_.lane.total(sum));
  if (context_.exchanges()) context_.meet_while_settling();
}

void LaneSteps::reduce(const GradientBucket& bucket) {
  const std::vector<int>& replicas = context_.domain.place.replicas;
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    scales_[r] =
        gradient_scale(bucket.aggregation, replicas[r], context_.step.key.examples, context_.around.topology.replicas);
  }
  context_.reduction.reducer->start(context_.stream(), bucket, scales_, context_.own);
  context_.meet_while_settling();
}

/// What the norm has of variables that replicas do not share, of all domains.
void LaneSteps::add_squares_of_domains() {
  if (!context_.step.key.applies) return;
  if (context_.own.is_first()) {
    context_.reduction.link->sum_number(context_.stream(), context_.lane.norms(),
                                        "squares of the replicas' own gradients");
    context_.meet_while_settling();
  }
  context_.own.meet();
  // Lanes of one domain are in host memory.
  if (!context_.own.is_first()) *context_.lane.norms() = *context_.domain_replicas.front().lane->norms();
  context_.own.meet();
}

void LaneSteps::renew_derived_copies() {
  context_.own.meet();
  refresh_derived_copies(false);
}

void LaneSteps::refresh_derived_copies(bool updated) const {
  context_.domain.derived.refresh(context_.stream(), context_.own.index, context_.own.lanes, updated);
}

}  // namespace mirrortrain
