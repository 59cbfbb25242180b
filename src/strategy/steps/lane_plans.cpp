// Builds the list of a lane's actions in a step, once before the first step; the actions are in lane_steps.cpp.
#include <algorithm>
#include <map>

#include "strategy/steps/lane_steps.h"

namespace mirrortrain {

StepPlan LaneSteps::training_plan() {
  StepPlan plan;
  const int lane = own_.index;
  if (shares_update()) plan.add("set up the update", [this, lane](const Step&) { team_.updates().restart(lane); });
  if (team_.pipeline()) {
    add_inputs(plan);
    add_normalization(plan);
    add_pipeline(plan, StepKind::kTrain);
  } else if (shares_programs()) {
    add_normalization(plan);
    add_shared_programs(plan);
  } else {
    add_inputs(plan);
    add_normalization(plan);
    add_programs(plan, StepKind::kTrain);
  }
  add_barrier(plan);  // every gradient is complete, every variable was read for the last time
  add_sparse_gathering(plan);
  if (shares_programs()) {
    plan.add("set up the next step", [this, lane](const Step&) { team_.programs().restart(lane); });
  }
  add_update(plan);
  plan.add("send sums", [this](const Step& step) { lane_.buffers().send_sums(stream(), step.slot); });
  return plan;  // the lanes' team meets afterwards: a step ends when all lanes are done
}

StepPlan LaneSteps::evaluation_plan() {
  StepPlan plan;
  add_inputs(plan);
  if (team_.pipeline()) {
    add_pipeline(plan, StepKind::kEvaluate);
  } else {
    add_programs(plan, StepKind::kEvaluate);
  }
  plan.add("send sums", [this](const Step& step) { lane_.buffers().send_sums(stream(), step.slot); });
  return plan;
}

void LaneSteps::add_inputs(StepPlan& plan) {
  // What the stages of a pipeline compute waits for other memories on the host too.
  const bool captures = options_.captures && !team_.pipeline() && has_model();
  if (captures && stream().can_capture()) plan.capture_on(stream());
  plan.add("send inputs", [this](const Step& step) { send_inputs(step); });
  if (lane_.examples() == nullptr || !has_model()) return;
  const auto gather = [this](const Step& step) { gather_on_device(step); };
  if (lane_.examples()->all_on_device()) {
    plan.add_fixed("gather rows", gather);
  } else {
    plan.add("gather rows", gather);  // from varying memory, so it is not captured
  }
}

/// The layers read normalized weights, which evaluation does not: as in Keras, a step assigns them.
void LaneSteps::add_normalization(StepPlan& plan) {
  if (!domain_.spectra.any()) return;
  plan.add_fixed("normalize weights", [this](const Step&) { domain_.spectra.apply(own_); });
  add_barrier(plan);  // every weight is normalized
  plan.add_fixed("refresh derived copies", [this](const Step&) { refresh_derived_copies(true); });
  add_barrier(plan);  // every copy is refreshed
}

/// Kernels [first, last) of a replica's program.
void LaneSteps::add_program(StepPlan& plan, Replica& replica, StepKind kind, std::size_t first, std::size_t last) {
  plan.add_fixed("run layers",
                 [this, &replica, kind, first, last](const Step&) { run_program(replica, kind, first, last); });
}

void LaneSteps::add_gathering(StepPlan& plan, Replica& replica) {
  if (lane_.examples() != nullptr) return;  // the device gathered them for all replicas
  plan.add("gather rows", [this, &replica](const Step& step) { gather_rows(step, replica); });
}

/// All programs: replica by replica, or, if they wait for collectives, segment by segment for all replicas. In
/// training, the lane's first replica waits for weights that other domains updated, each before it reads them, and each
/// bucket is reduced as soon as it is full: while the last replica continues with backward.
void LaneSteps::add_programs(StepPlan& plan, StepKind kind) {
  if (!has_model()) return;
  std::vector<std::size_t> ends;  // of segments
  if (collectives(kind).are_shared()) ends = lane_.programs().segment_ends(kind);
  ends.push_back(kToTheEnd);
  const bool reduces = kind == StepKind::kTrain && reduction_.reducer != nullptr;
  auto wait = kind == StepKind::kTrain ? waits_.begin() : waits_.end();
  auto bucket = reduction_.buckets.begin();
  std::size_t begin = 0;
  for (std::size_t part = 0; part < ends.size(); begin = ends[part++]) {
    for (Replica& replica : lane_.replicas()) {
      std::size_t done = begin;
      const auto run_to = [&, this](std::size_t end) {
        if (done < end) add_program(plan, replica, kind, done, end);
        done = end;
      };
      if (part == 0) add_gathering(plan, replica);
      const bool is_first = &replica == &lane_.replicas().front(), is_last = &replica == &lane_.replicas().back();
      for (; is_first && wait != waits_.end() && wait->after <= ends[part]; ++wait) {
        run_to(wait->after);
        plan.add("wait for weights", [this, &of = wait->buckets](const Step&) { finish_gathering_weights(of); });
      }
      for (; reduces && is_last && bucket != reduction_.buckets.end() && bucket->full_after <= ends[part]; ++bucket) {
        run_to(std::max(done, bucket->full_after));
        plan.add("reduce bucket", [this, &full = *bucket](const Step& step) { reduce(step, full); });
      }
      run_to(ends[part]);
    }
    if (ends[part] != kToTheEnd) add_collective(plan, kind, part);
  }
  if (reduces) plan.add("wait for buckets", [this](const Step&) { reduction_.reducer->finish(own_); });
  if (kind != StepKind::kTrain || !has_sparse()) return;
  plan.add("sum lookups", [this](const Step& step) {
    for (const Replica& replica : lane_.replicas()) sum_lookups(step, replica);
  });
}

/// The kernels before the first collective or bucket that a training step exchanges with other domains.
std::size_t LaneSteps::first_exchange() const {
  std::size_t first = reduction_.buckets.empty() ? kToTheEnd : reduction_.buckets.front().full_after;
  const std::vector<std::size_t> ends = lane_.programs().segment_ends(StepKind::kTrain);
  for (std::size_t which = 0; which < ends.size(); ++which) {
    if (collectives(StepKind::kTrain).exchanges(which)) first = std::min(first, ends[which]);
  }
  return first;
}

/// Weights are waited for where they are read, but before anything else is exchanged.
std::vector<LaneSteps::WeightWait> LaneSteps::weight_waits() const {
  if (!reduction_.weights) return {};
  const std::size_t latest = first_exchange();
  std::map<std::size_t, std::vector<std::size_t>> due;  // buckets by the number of kernels before
  for (std::size_t which = 0; which < reduction_.buckets.size(); ++which) {
    due[std::min(reduction_.buckets[which].read_after, latest)].push_back(which);
  }
  std::vector<WeightWait> waits;
  for (auto& [after, buckets] : due) waits.push_back({after, std::move(buckets)});
  return waits;
}

/// The sparse gradients of other domains, for every lane.
void LaneSteps::add_sparse_gathering(StepPlan& plan) {
  if (!has_sparse() || !reduction_.sparse->exchanges()) return;
  plan.add("gather sparse gradients", [this](const Step&) {
    if (own_.is_first()) reduction_.sparse->gather(stream());
  });
  add_barrier(plan);
}

/// The stages of replicas that the lane computes, microbatch by microbatch. The counts are set back where all lanes
/// have met and meet again before the next step.
void LaneSteps::add_pipeline(StepPlan& plan, StepKind kind) {
  if (!has_model()) return;
  const bool trains = kind == StepKind::kTrain;
  const auto lane = static_cast<std::size_t>(own_.index);
  const std::vector<StagePlace>& stages = topology_.lanes[lane].stages;
  if (!domain_.place.on_host && !reduction_.stages.empty()) {
    plan.add("load kernels", [this, kind](const Step& step) { load_kernels(step, kind); });
  }
  for (const MicrobatchWork& work : pipeline_schedule(topology_.mesh, stages, trains)) {
    plan.add(work.backward ? "run stage backward" : "run stage",
             [this, kind, work](const Step& step) { run_stage(step, kind, work); });
  }
  if (!reduction_.stages.empty()) plan.add("wait for other stages", [this](const Step&) { finish_sends(); });
  add_barrier(plan);  // every stage is done
  plan.add("set up the next step", [this, &stages](const Step&) { team_.pipeline()->restart(stages); });
  if (!trains || !reduction_.reducer) return;
  for (const GradientBucket& bucket : reduction_.buckets) {
    plan.add("reduce bucket", [this, &bucket](const Step& step) { reduce(step, bucket); });
  }
  plan.add("wait for buckets", [this](const Step&) { reduction_.reducer->finish(own_); });
}

/// Lanes of one memory share their programs' work if nothing has to happen between a program's parts.
bool LaneSteps::shares_programs() const {
  return !team_.pipeline() && own_.lanes > 1 && has_model() && reduction_.reducer == nullptr &&
         collectives(StepKind::kTrain).size() == 0;
}

void LaneSteps::add_shared_programs(StepPlan& plan) {
  const int lane = own_.index;
  const std::size_t pieces = 1 + lane_.replicas().size() * pieces_of_replica();
  team_.programs().add_list(lane, SharedWork::Order::kInTurn, pieces,
                            [this](std::size_t piece, const Step& step) { run_program_piece(step, piece); });
  plan.add("run layers", [this, lane](const Step& step) {
    choose_cores();
    own_.waited_seconds += team_.programs().work(lane, step);
  });
}

/// Lanes of one memory share the update's work if all gradients are complete since the last barrier.
bool LaneSteps::shares_update() const {
  const WeightUpdate& update = domain_.update;
  const bool meets = update.needs_norm() || update.takes_directions() || update.measures();
  return own_.lanes > 1 && (!update.keeps_gradients() || meets);
}

void LaneSteps::add_shared_update(StepPlan& plan) {
  const int lane = own_.index;
  std::vector<DomainLane> pieces;
  for (int i = 0; i < kUpdatePieces; ++i) pieces.push_back(own_.piece(i, kUpdatePieces));
  team_.updates().add_list(lane, SharedWork::Order::kAny, pieces.size(),
                           [this, pieces](std::size_t which, const Step&) { domain_.update.apply(pieces[which]); });
  add_unless_skipped(plan, "update", [this, lane](const Step& step) { team_.updates().work(lane, step); });
}

/// One across domains waits for other lanes, so it is enqueued anew each time.
void LaneSteps::add_collective(StepPlan& plan, StepKind kind, std::size_t which) {
  const auto run = [this, kind, which](const Step& step) { run_collective(step, kind, which); };
  if (collectives(kind).exchanges(which)) {
    plan.add("run collective", run);
  } else {
    plan.add_fixed("run collective", run);
  }
}

/// Adds the update of the weights from gradients, and the step's other writes.
void LaneSteps::add_update(StepPlan& plan) {
  const WeightUpdate& update = domain_.update;
  if (update.keeps_gradients()) {
    plan.add_fixed("accumulate gradients", [this, &update](const Step&) { update.accumulate(own_); });
    if (options_.skips_non_finite) {
      add_barrier(plan);  // every gradient is accumulated
      plan.add_fixed("sum squares", [this](const Step&) {
        if (own_.is_first()) sum_losses_and_squares();
      });
      plan.add("find non-finite", [this](const Step& step) { find_non_finite(step); });
    }
    if (update.needs_norm()) add_barrier(plan);  // every lane computes the whole norm
    if (update.needs_own_squares()) {
      add_unless_skipped(plan, "sum own squares", [this, &update](const Step&) { update.sum_own_squares(own_); });
      if (exchanges()) {
        add_unless_skipped(
            plan, "add squares", [this](const Step& step) { add_squares_of_domains(step); }, false);
      }
    }
    if (update.needs_norm()) {
      add_unless_skipped(plan, "scale to norms", [this, &update](const Step&) { update.scale_to_norms(own_); });
      add_barrier(plan);  // every lane's params are set
    }
  }
  if (update.takes_directions()) {
    if (!update.needs_norm()) add_barrier(plan);  // each lane reads whole gradients
    add_unless_skipped(plan, "make directions", [this](const Step& step) {
      if (step.key.applies) directions_->enqueue(stream());
    });
    add_barrier(plan);  // each lane reads a part of every direction
  }
  if (update.measures()) {
    add_unless_skipped(plan, "measure directions", [this, &update](const Step&) { update.measure(own_); });
    add_barrier(plan);  // every lane reads the norms of whole variables
  }
  if (shares_update()) {
    add_shared_update(plan);
  } else {
    add_unless_skipped(plan, "update", [this, &update](const Step&) { update.apply(own_); });
  }
  if (update.is_sharded() && !reduction_.weights) {
    add_barrier(plan);  // every lane has updated its part
    add_unless_skipped(
        plan, "gather weights", [this](const Step& step) { gather_weights(step); }, false);
  }
  if (domain_.constraints.any()) {
    add_barrier(plan);  // every weight is updated
    add_unless_skipped(plan, "constrain weights", [this](const Step& step) {
      if (step.key.applies) domain_.constraints.apply(own_);
    });
  }
  // Across domains, the sums of shared variables are added.
  add_unless_skipped(
      plan, "write variables", [this](const Step& step) { write_assigned(step); }, reduction_.along_data == nullptr);
  add_barrier(plan);  // every variable is written, and every lane has updated its part
  if (reduction_.weights) {
    add_unless_skipped(
        plan, "begin gathering weights", [this](const Step& step) { begin_gathering_weights(step); }, false);
  }
  add_unless_skipped(plan, "refresh derived copies", [this](const Step& step) {
    if (step.key.applies) refresh_derived_copies(true);
  });
  if ((update.sums_parts() ? own_.is_first() : is_first_) && update.is_regularized()) {
    plan.add_fixed("sum regularization", [this, &update](const Step&) {
      update.sum_regularization(stream(), lane_.buffers().regularization());
    });
  }
}

/// What a step leaves out whose numbers are not finite. The host decides, because later steps depend on it: on how many
/// updates there were, and which gradients are accumulated together.
void LaneSteps::add_unless_skipped(StepPlan& plan, const char* name, StepPlan::Run run, bool fixed) {
  if (!options_.skips_non_finite) return fixed ? plan.add_fixed(name, std::move(run)) : plan.add(name, std::move(run));
  if (fixed) return plan.add_fixed_unless(skips_, name, std::move(run));
  plan.add(name, [this, run = std::move(run)](const Step& step) {
    if (!skips_) run(step);
  });
}

void LaneSteps::add_barrier(StepPlan& plan) {
  if (own_.lanes > 1) plan.add("wait for other devices", [this](const Step&) { own_.arrive_and_wait(); });
}

}  // namespace mirrortrain
