// What a lane does in a step, written once before the first.
#include <limits>

#include "strategy/steps/lane_steps.h"

namespace mirrortrain {
namespace {

constexpr std::size_t kToTheEnd = std::numeric_limits<std::size_t>::max();

}  // namespace

StepPlan LaneSteps::training_plan() {
  StepPlan plan;
  add_inputs(plan, StepKind::kTrain);
  if (!on_host()) {
    plan.add("write state", [this] {
      if (!step_.is_filled) write_on_host();
    });
  }
  GradientPacks* const packs = across_ != nullptr ? &across_->packs()
                               : around_.local    ? &around_.local->packs()
                                                  : nullptr;
  if (packs != nullptr && !around_.model.layers.empty()) {
    add_programs_and_packs(plan, *packs);
  } else {
    add_programs(plan, StepKind::kTrain, lane_.replicas().size());
  }
  add_meeting(plan);  // every gradient is there, every variable was read for the last time
  add_update(plan);
  add_sums(plan);
  add_meeting(plan);  // the step is over when every lane is
  return plan;
}

StepPlan LaneSteps::evaluation_plan() {
  StepPlan plan;
  add_inputs(plan, StepKind::kEvaluate);
  add_programs(plan, StepKind::kEvaluate, lane_.replicas().size());
  add_sums(plan);
  return plan;
}

void LaneSteps::add_inputs(StepPlan& plan, StepKind kind) {
  const bool has_model = !around_.model.layers.empty();
  if (around_.captures && lane_.stream().can_capture() && has_model) plan.capture_on(lane_.stream());
  plan.add("send inputs", [this] {
    if (!step_.is_filled) fill_inputs();
    lane_.inputs().send(lane_.stream(), step_.slot, device_rows());
  });
  if (lane_.examples() == nullptr || !has_model) return;
  const auto gather = [this, kind] { gather_on_device(kind); };
  if (lane_.examples()->all_on_device()) {
    plan.add_fixed("gather rows", gather);
  } else {
    plan.add("gather rows", gather);  // from one place, then from another
  }
}

void LaneSteps::add_sums(StepPlan& plan) {
  plan.add("send sums", [this] { lane_.sums().send(lane_.stream(), step_.slot); });
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
  if (lane_.examples() != nullptr) return;  // the device picked them for all replicas
  plan.add("gather rows", [this, &replica, kind] { gather_rows(replica, kind); });
}

/// All programs, with the reduction of each pack as soon as it is full: while the lane's last replica still has the
/// rest of backward to do.
void LaneSteps::add_programs_and_packs(StepPlan& plan, const GradientPacks& packs) {
  add_programs(plan, StepKind::kTrain, lane_.replicas().size() - 1);
  Replica& last = lane_.replicas().back();
  add_gathering(plan, last, StepKind::kTrain);
  std::size_t done = 0;
  const auto run_until = [&](std::size_t end) {
    plan.add_fixed("run program", [this, &last, done, end] { run_program(last, StepKind::kTrain, done, end); });
    done = end;
  };
  for (std::size_t pack = 0; pack < packs.size(); ++pack) {
    if (packs.full_after(pack) > done) run_until(packs.full_after(pack));
    add_pack(plan, pack);
  }
  run_until(kToTheEnd);
  if (across_ != nullptr) plan.add("wait for packs", [this] { across_->finish(lane_.stream()); });
}

void LaneSteps::add_pack(StepPlan& plan, std::size_t pack) {
  if (across_ != nullptr) {
    plan.add("reduce pack", [this, pack] {
      across_->reduce(lane_.stream(), pack, step_.kind.examples);
      meet_while_settling();
    });
    return;
  }
  GradientExchange& local = *around_.local;
  plan.add("prepare pack", [this, &local, pack] {
    for (const Replica& replica : lane_.replicas()) local.prepare(pack, replica.index, step_.kind.examples);
  });
  for (int stage = 0; stage < local.stages(); ++stage) {
    add_meeting(plan);
    plan.add("reduce pack", [this, &local, pack, stage] {
      for (const Replica& replica : lane_.replicas()) local.run(pack, stage, replica.index);
    });
  }
}

/// From gradients to weights, and whatever else a step writes.
void LaneSteps::add_update(StepPlan& plan) {
  const WeightUpdate& update = mirror_.update;
  if (update.accumulates()) {
    plan.add_fixed("accumulate gradients", [this, &update] { update.accumulate(share()); });
    if (update.needs_norm()) add_meeting(plan);  // every lane adds up the whole norm
    if (update.needs_own_squares()) add_own_squares(plan);
  }
  plan.add_fixed("update", [this, &update] { update.apply(share()); });
  if (on_host()) {
    plan.add("write variables", [this] { write_on_host(); });
  } else if (across_ != nullptr) {
    plan.add("write variables", [this] { write_on_device(); });  // what is shared is added across the devices
  } else {
    plan.add_fixed("write variables", [this] { write_on_device(); });
  }
  add_meeting(plan);  // every variable is written
  plan.add_fixed("refresh derived copies", [this] {
    if (step_.kind.applies) refresh_derived_copies(true);
  });
  if (index_ == 0 && update.is_regularized()) {
    plan.add_fixed("sum regularization",
                   [this, &update] { update.sum_regularization(lane_.stream(), lane_.sums().regularization()); });
  }
}

/// What the norm has of variables that replicas do not share.
void LaneSteps::add_own_squares(StepPlan& plan) {
  plan.add_fixed("sum own squares", [this] { mirror_.update.sum_own_squares(share()); });
  if (across_ == nullptr) return;
  plan.add("add squares", [this] {
    if (!step_.kind.applies) return;
    across_->sum_number(lane_.stream(), lane_.norms(), "squares of the replicas' own gradients");
    meet_while_settling();
  });
}

/// Lanes with memory of their own wait for each other where they exchange something, on their streams.
void LaneSteps::add_meeting(StepPlan& plan) {
  if (!on_host()) return;
  plan.add_wait("meet", [this] { around_.team.meet(); });
}

}  // namespace mirrortrain
