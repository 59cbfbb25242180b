#include "train/training_steps.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "train/checkpoint/non_finite.h"

namespace mirrortrain {

StepSpec next_step(TrainingState& state, std::int64_t accumulate_steps, std::span<const LearningRate> learning_rates) {
  StepSpec step;
  step.step = ++state.step;
  step.gradients = state.gradients + 1;
  step.applies = step.gradients >= accumulate_steps;
  state.gradients = step.applies ? 0 : step.gradients;
  if (step.gradients == 1) state.skips_update = false;
  step.skips = state.skips_update;
  if (step.applies) ++state.updates;
  step.updates = state.updates;
  for (std::size_t i = 0; i < learning_rates.size(); ++i) {
    step.learning_rates[i] = state.callbacks.learning_rate_from(learning_rate_at(learning_rates[i], state.step));
  }
  return step;
}

bool skip_step(TrainingState& state) {
  if (state.gradients == 0) --state.updates;  // it would have ended with an update
  return std::exchange(state.skips_update, true);
}

TrainingSteps::TrainingSteps(Strategy& strategy, const data::Feeder* examples, data::Order& order,
                             std::int64_t accumulate_steps, std::vector<LearningRate> learning_rates)
    : strategy_(strategy),
      examples_(examples),
      order_(order),
      accumulate_steps_(accumulate_steps),
      learning_rates_(std::move(learning_rates)) {}

TrainingSteps::TrainingSteps(Run& run, const Configuration& values)
    : TrainingSteps(*run.strategy, run.train.get(), *run.order, values.gradients.accumulate_steps,
                    values.optimizer ? learning_rates_of(*values.optimizer) : std::vector<LearningRate>(1)) {}

bool TrainingSteps::seek(const TrainingState& state) {
  // The data may have changed on disk.
  const bool same_epoch = state.position.workers == order_.workers();
  if (same_epoch && state.position.examples > order_.examples_per_epoch()) {
    throw Error(
        fmt::format("the checkpoint is at example {} of an epoch, and there are {} now; give the run its data "
                    "again, or start a new run",
                    state.position.examples, order_.examples_per_epoch()));
  }
  if (state.position.workers != order_.workers() && state.position.examples > 0) {
    spdlog::warn(
        "data.auto_shard: the number of workers changed within epoch {}, from {} to {}: in the rest of it some "
        "examples come again, and others do not come",
        state.position.epoch, state.position.workers, order_.workers());
  }
  order_.seek(state.position);
  return order_.position().examples == 0 || order_.position().examples == order_.examples_per_epoch();
}

/// For the replicas in this process.
std::optional<double> TrainingSteps::take_waiting_for_data(double seconds) {
  if (examples_ == nullptr || !examples_->reads_ahead()) return std::nullopt;
  const double all = seconds * static_cast<double>(strategy_.topology().lanes.size());
  const double waited = examples_->take_waited_seconds();
  return all > 0 ? std::min(waited / all, 1.0) : 0;
}

void TrainingSteps::read_ahead(const data::Order::Batch& batch) {
  if (examples_ == nullptr || !examples_->reads_ahead()) return;
  const Topology& topology = strategy_.topology();
  expected_.clear();
  for (std::size_t first = 0; first < batch.ahead.size(); first += batch.rows.size()) {
    const auto rows = batch.ahead.subspan(first, std::min(batch.rows.size(), batch.ahead.size() - first));
    for (const LanePlace& lane : topology.lanes) {
      for (const int replica : lane.replicas) {
        const RowRange own = rows_of_place(static_cast<std::int64_t>(rows.size()), replica, topology.mesh);
        const data::BatchPart part{rows, static_cast<std::size_t>(own.first), static_cast<std::size_t>(own.count)};
        examples_->append_rows(part, batch.position.epoch, expected_);
      }
    }
  }
  examples_->expect(expected_, batch.position.epoch);
}

double TrainingSteps::learning_rate(const TrainingState& state) const {
  return state.callbacks.learning_rate_from(learning_rate_at(learning_rates_.front(), state.step));
}

TrainingSteps::Step TrainingSteps::train(TrainingState& state) {
  const data::Order::Batch batch = order_.next();
  read_ahead(batch);
  StepSpec step = next_step(state, accumulate_steps_, learning_rates_);
  step.data_set = examples_;
  step.rows = batch.rows;
  step.epoch = batch.position.epoch;
  strategy_.train(step);
  state.position = order_.position();
  return {step.global_examples(), batch.ends_epoch, step.learning_rates.front()};
}

std::string TrainingSteps::largest_input_text(std::int64_t step) const {
  if (examples_ == nullptr) return "";
  data::Order order = order_;
  order.seek({epoch_of(step), 0});
  data::Order::Batch batch;
  for (std::int64_t i = 0; i <= (step - 1) % order_.batches_per_epoch(); ++i) batch = order.next();
  return mirrortrain::largest_input_text(examples_->dataset(), batch.rows, "its batch");
}

}  // namespace mirrortrain
