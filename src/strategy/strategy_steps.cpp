// Steps of training and evaluation, one after the other; what a lane does in one is in lane_steps.cpp.
#include "base/error.h"
#include "strategy/strategy.h"

namespace mirrortrain {

void Strategy::train(const TrainBatch& batch) {
  step_start_ = StepPlan::Clock::now();
  const StepPlan::StepOfKind kind{batch.examples, static_cast<std::int64_t>(batch.rows.size()), batch.update.gradients,
                                  batch.update.applies};
  if (kind != step_.kind) enqueue_deferred();
  const std::size_t slot = results_.begin(kind.examples);
  step_ = {batch, {}, kind, slot};
  step_.batch.update.examples = kind.examples;
  step_.update_scalars = mirrors_->begin_update(step_.batch.update);
  if (on_host()) writes_->choose_values(kind.examples);
  if (device_exchanges_) step_.is_settling = ++steps_of_kind_[kind] <= StepPlan::kStepsToSettle;
  if (!bursts_) return run_lanes(run_training_);

  LaneSteps& only = *lane_steps_[0];
  only.fill_inputs();
  only.write_on_host();
  step_.is_filled = true;
  ++deferred_;
  if (!only.training().has_run(kind) || results_.size() % StepBursts::kSteps == 0) enqueue_deferred();
}

/// Steps that are filled and wait for more of their kind.
void Strategy::enqueue_deferred() {
  if (deferred_ == StepBursts::kSteps) {
    enter_thread();
    const auto run_fixed = [this] { lane_steps_[0]->training().run_fixed(); };
    if (bursts_->enqueue(step_.kind, results_.size() - deferred_, run_fixed)) {
      deferred_ = 0;
    } else {
      bursts_.reset();
    }
  }
  for (; deferred_ > 0; --deferred_) {
    step_.slot = results_.size() - deferred_;
    run_lanes(run_training_);
  }
}

void Strategy::begin_evaluation() {
  const VariableStore& host = variables();
  host.fill_evaluation_copies();
  evaluation_regularization_ = host.regularization();
  run_lanes([this](int lane) {
    const auto index = static_cast<std::size_t>(lane);
    mirrors_->take_evaluation_copies(lane, *streams_[index]);
    lane_steps_[index]->refresh_derived_copies(false);
  });
}

void Strategy::evaluate(const EvaluationBatch& batch) {
  enqueue_deferred();
  const auto examples = static_cast<std::int64_t>(batch.rows.size());
  const std::size_t slot = results_.begin(examples, evaluation_regularization_);
  step_ = {{batch.examples, batch.rows, 0, {}}, {}, {batch.examples, examples, 0, false}, slot};
  run_lanes(run_evaluation_);
}

std::span<const Sums> Strategy::take_sums() {
  synchronize();
  return results_.take(model_.layers.empty() ? std::span<const LaneReplica>() : replicas_);
}

/// The calling thread may have driven another strategy's GPU meanwhile, and kernels go to the thread's own.
void Strategy::enter_thread() const {
  if (!on_host()) lanes_[0]->device().enter_thread();
}

void Strategy::run_lanes(const std::function<void(int)>& work) {
  enter_thread();
  if (!device_exchanges_) return team_->run(work);
  // A lane that fails says so to the others itself: one that waits for it in an exchange comes to no meeting of the
  // team.
  const std::function<void(int)> told = [this, &work](int lane) {
    try {
      work(lane);
    } catch (const std::exception& error) {
      device_exchanges_->of_lane(lane).abort(error.what());
      throw;
    }
  };
  try {
    team_->run(told);
  } catch (const std::exception& error) {
    device_exchanges_->abort(error.what());
    throw;
  }
}

void Strategy::synchronize() {
  enqueue_deferred();
  if (device_exchanges_) return device_exchanges_->synchronize(streams_);
  for (Stream* const stream : streams_) stream->synchronize();
}

}  // namespace mirrortrain
