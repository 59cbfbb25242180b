// What a lane does in a step, written once before the first; what each action does is in lane_steps.cpp.
#include <limits>

#include "strategy/steps/lane_steps.h"

namespace mirrortrain {
namespace {

constexpr std::size_t kToTheEnd = std::numeric_limits<std::size_t>::max();

}  // namespace

StepPlan LaneSteps::training_plan() {
  StepPlan plan;
  add_inputs(plan, StepKind::kTrain);
  add_programs_and_buckets(plan);
  add_meeting(plan);  // every gradient is there, every variable was read for the last time
  add_update(plan);
  plan.add("send sums", [this] { lane_.buffers().send_sums(lane_.stream(), step_.slot); });
  add_meeting(plan);  // the step is over when every lane is
  return plan;
}

StepPlan LaneSteps::evaluation_plan() {
  StepPlan plan;
  add_inputs(plan, StepKind::kEvaluate);
  add_programs(plan, StepKind::kEvaluate, lane_.replicas().size());
  plan.add("send sums", [this] { lane_.buffers().send_sums(lane_.stream(), step_.slot); });
  return plan;
}

void LaneSteps::add_inputs(StepPlan& plan, StepKind kind) {
  const bool has_model = !around_.model.layers.empty();
  if (around_.captures && lane_.stream().can_capture() && has_model) plan.capture_on(lane_.stream());
  plan.add("send inputs", [this] {
    if (!step_.is_filled) fill_inputs();
    lane_.buffers().send_inputs(lane_.stream(), step_.slot, device_rows());
  });
  if (lane_.examples() == nullptr || !has_model) return;
  const auto gather = [this, kind] { gather_on_device(kind); };
  if (lane_.examples()->all_on_device()) {
    plan.add_fixed("gather rows", gather);
  } else {
    plan.add("gather rows", gather);  // from one place, then from another
  }
}

/// The lane's first `replicas` replicas, from gathering their rows to their gradients.
void LaneSteps::add_programs(StepPlan& plan, StepKind kind, std::size_t replicas) {
  if (around_.model.layers.empty()) return;
  for (std::size_t i = 0; i < replicas; ++i) {
    Replica& replica = lane_.replicas()[i];
    add_gathering(plan, replica, kind);
    plan.add_fixed("run program", [this, &replica, kind] { run_program(replica, kind, 0, kToTheEnd); });
  }
}

void LaneSteps::add_gathering(StepPlan& plan, Replica& replica, StepKind kind) {
  if (lane_.examples() != nullptr) return;  // the device gathered them for all replicas
  plan.add("gather rows", [this, &replica, kind] { gather_rows(replica, kind); });
}

/// All programs, with the reduction of each bucket as soon as it is full: while the lane's last replica still has the
/// rest of backward to do.
void LaneSteps::add_programs_and_buckets(StepPlan& plan) {
  const bool reduces = reduction_.reducer != nullptr && !around_.model.layers.empty();
  add_programs(plan, StepKind::kTrain, lane_.replicas().size() - (reduces ? 1 : 0));
  if (!reduces) return;
  Replica& last = lane_.replicas().back();
  add_gathering(plan, last, StepKind::kTrain);
  std::size_t done = 0;
  const auto run_until = [&](std::size_t end) {
    plan.add_fixed("run program", [this, &last, done, end] { run_program(last, StepKind::kTrain, done, end); });
    done = end;
  };
  for (const GradientBucket& bucket : reduction_.buckets) {
    if (bucket.full_after > done) run_until(bucket.full_after);
    plan.add("reduce bucket", [this, &bucket] { reduce(bucket); });
  }
  run_until(kToTheEnd);
  plan.add("wait for buckets", [this] { reduction_.reducer->finish(own_); });
}

/// From gradients to weights, and whatever else a step writes.
void LaneSteps::add_update(StepPlan& plan) {
  const WeightUpdate& update = domain_.update;
  if (update.accumulates()) {
    plan.add_fixed("accumulate gradients", [this, &update] { update.accumulate(own_); });
    if (update.needs_norm()) add_meeting(plan);  // every lane adds up the whole norm
    if (update.needs_own_squares()) {
      plan.add_fixed("sum own squares", [this, &update] { update.sum_own_squares(own_); });
      if (reduction_.link != nullptr) plan.add("add squares", [this] { add_squares_of_domains(); });
    }
  }
  if (update.measures()) {
    plan.add_fixed("measure directions", [this, &update] { update.measure(own_); });
    add_meeting(plan);  // every lane reads the norms of whole variables
  }
  plan.add_fixed("update", [this, &update] { update.apply(own_); });
  if (reduction_.link != nullptr) {
    plan.add("write variables", [this] { write_variables(); });  // what is shared is added across the domains
  } else {
    plan.add_fixed("write variables", [this] { write_variables(); });
  }
  add_meeting(plan);  // every variable is written
  plan.add_fixed("refresh derived copies", [this] {
    if (step_.key.applies) refresh_derived_copies(true);
  });
  if (&lane_ == around_.replicas.front().lane && update.is_regularized()) {
    plan.add_fixed("sum regularization",
                   [this, &update] { update.sum_regularization(lane_.stream(), lane_.buffers().regularization()); });
  }
}

void LaneSteps::add_meeting(StepPlan& plan) {
  if (own_.lanes > 1) plan.add("meet", [this] { own_.meet(); });
}

}  // namespace mirrortrain
