// What each lane does in a step, written once before the first.
#include <limits>

#include "strategy/strategy.h"

namespace mirrortrain {
namespace {

constexpr std::size_t kToTheEnd = std::numeric_limits<std::size_t>::max();

}  // namespace

StepPlan Strategy::train_plan(int lane) {
  StepPlan plan;
  Lane& own = *lanes_[static_cast<std::size_t>(lane)];
  const WeightUpdate& update = mirrors_->of_lane(lane).update;
  add_inputs(plan, own, StepKind::kTrain);
  if (!backend_->shares_host_memory()) {
    plan.add("write state", [this, lane] {
      if (!bursts_) write_on_host(lane);
    });
  }
  if (packs_of(lane) != nullptr && !model_.layers.empty()) {
    add_exchange(plan, lane);
  } else {
    add_whole_programs(plan, own, StepKind::kTrain, own.replicas().size());
  }
  add_meeting(plan);  // every gradient is there, every variable was read for the last time
  if (update.accumulates()) {
    plan.add_fixed("accumulate gradients", [this, &update, lane] { update.accumulate(share_of(lane)); });
    if (update.needs_norm()) add_meeting(plan);  // every lane adds up the whole norm
  }
  plan.add_fixed("update", [this, &update, lane] { update.apply(share_of(lane)); });
  if (!backend_->shares_host_memory()) {
    const auto write = [this, lane] { write_on_device(lane); };
    if (device_exchanges_.empty()) {
      plan.add_fixed("write variables", write);
    } else {
      plan.add("write variables", write);  // what is shared is added across the devices
    }
  }
  if (backend_->shares_host_memory()) plan.add("write variables", [this, lane] { write_on_host(lane); });
  add_meeting(plan);  // every variable is written
  plan.add_fixed("refresh derived copies", [this, lane] {
    if (batch_.update.applies) refresh_derived_copies(lane, true);
  });
  if (lane == 0 && update.is_regularized()) {
    plan.add_fixed("sum regularization",
                   [this, &own, &update] { update.sum_regularization(own.stream(), own.sums().regularization()); });
  }
  add_sums(plan, own);
  add_meeting(plan);  // the step is over when every lane is
  return plan;
}

StepPlan Strategy::evaluation_plan(int lane) {
  StepPlan plan;
  Lane& own = *lanes_[static_cast<std::size_t>(lane)];
  add_inputs(plan, own, StepKind::kEvaluate);
  add_whole_programs(plan, own, StepKind::kEvaluate, own.replicas().size());
  add_sums(plan, own);
  return plan;
}

void Strategy::add_inputs(StepPlan& plan, Lane& lane, StepKind kind) {
  if (captures_ && lane.stream().can_capture() && !model_.layers.empty()) plan.capture_on(lane.stream());
  plan.add("send inputs", [this, &lane, kind] {
    if (kind == StepKind::kEvaluate || !bursts_) fill_inputs(lane);
    send_inputs(lane);
  });
  if (lane.examples() == nullptr || model_.layers.empty()) return;
  const auto gather = [this, &lane, kind] { gather_on_device(lane, kind); };
  if (lane.examples()->all_on_device()) {
    plan.add_fixed("gather rows", gather);
  } else {
    plan.add("gather rows", gather);  // from one place, then from another
  }
}

void Strategy::add_sums(StepPlan& plan, Lane& lane) {
  plan.add("send sums", [this, &lane] { lane.sums().send(lane.stream(), slot_); });
}

/// The lane's first `replicas` replicas, from gathering their rows to their gradients.
void Strategy::add_whole_programs(StepPlan& plan, Lane& lane, StepKind kind, std::size_t replicas) {
  if (model_.layers.empty()) return;
  for (std::size_t i = 0; i < replicas; ++i) {
    Replica& replica = lane.replicas()[i];
    if (lane.examples() == nullptr) {
      plan.add("gather rows", [this, &replica, kind] { gather_rows(replica, kind); });
    }
    plan.add_fixed("run program", [this, &lane, &replica, kind] { run_program(lane, replica, kind, 0, kToTheEnd); });
  }
}

/// All programs, with the reduction of each pack as soon as it is full: while the lane's last replica still has the
/// rest of backward to do.
void Strategy::add_exchange(StepPlan& plan, int lane) {
  Lane& own = *lanes_[static_cast<std::size_t>(lane)];
  add_whole_programs(plan, own, StepKind::kTrain, own.replicas().size() - 1);
  Replica& last = own.replicas().back();
  if (own.examples() == nullptr) plan.add("gather rows", [this, &last] { gather_rows(last, StepKind::kTrain); });
  std::size_t done = 0;
  const auto run_until = [&](std::size_t end) {
    plan.add_fixed("run program",
                   [this, &own, &last, done, end] { run_program(own, last, StepKind::kTrain, done, end); });
    done = end;
  };
  DeviceExchange* const across = exchange_ ? nullptr : device_exchanges_[static_cast<std::size_t>(lane)].get();
  const GradientPacks& packs = *packs_of(lane);
  for (std::size_t pack = 0; pack < packs.size(); ++pack) {
    if (packs.full_after(pack) > done) run_until(packs.full_after(pack));
    if (across == nullptr) {
      add_local_reduction(plan, own, pack);
    } else {
      plan.add("reduce pack", [this, &own, across, pack] {
        across->reduce(own.stream(), pack, batch_.update.examples);
        meet_while_settling();
      });
    }
  }
  run_until(kToTheEnd);
  if (across != nullptr) plan.add("wait for packs", [&own, across] { across->finish(own.stream()); });
}

void Strategy::add_local_reduction(StepPlan& plan, Lane& lane, std::size_t pack) {
  plan.add("prepare pack", [this, &lane, pack] {
    for (const Replica& replica : lane.replicas()) exchange_->prepare(pack, replica.index, batch_.update.examples);
  });
  for (int stage = 0; stage < exchange_->stages(); ++stage) {
    add_meeting(plan);
    plan.add("reduce pack", [this, &lane, pack, stage] {
      for (const Replica& replica : lane.replicas()) exchange_->run(pack, stage, replica.index);
    });
  }
}

/// Lanes with memory of their own wait for each other where they exchange something, on their streams.
void Strategy::add_meeting(StepPlan& plan) {
  if (!backend_->shares_host_memory()) return;
  plan.add_wait("meet", [this] { team_->meet(); });
}

/// In the first steps of a kind kernels are loaded and recordings made, for which CUDA may wait for all that runs on a
/// GPU and keep every thread out meanwhile. An operation that waits for another lane must not be among that: so all
/// lanes enqueue it before any goes on.
void Strategy::meet_while_settling() {
  if (is_settling_) team_->meet();
}

}  // namespace mirrortrain
