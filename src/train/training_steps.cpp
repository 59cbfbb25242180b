#include "train/training_steps.h"

namespace mirrortrain {

StepSpec next_step(TrainingState& state, std::int64_t accumulate_steps, const LearningRate& learning_rate) {
  StepSpec step;
  step.step = ++state.step;
  step.gradients = state.gradients + 1;
  step.applies = step.gradients >= accumulate_steps;
  state.gradients = step.applies ? 0 : step.gradients;
  if (step.applies) ++state.updates;
  step.updates = state.updates;
  step.learning_rate = learning_rate_at(learning_rate, state.step);
  return step;
}

TrainingSteps::TrainingSteps(Strategy& strategy, const data::Feeder* examples, data::Order& order,
                             std::int64_t accumulate_steps, LearningRate learning_rate)
    : strategy_(strategy),
      examples_(examples),
      order_(order),
      accumulate_steps_(accumulate_steps),
      learning_rate_(std::move(learning_rate)) {}

bool TrainingSteps::seek(const TrainingState& state) {
  order_.seek(state.position);
  return state.position.examples == 0 || state.position.examples == order_.examples_per_epoch();
}

TrainingSteps::Step TrainingSteps::train(TrainingState& state) {
  const data::Order::Batch batch = order_.next();
  StepSpec step = next_step(state, accumulate_steps_, learning_rate_);
  step.examples = examples_;
  step.rows = batch.rows;
  strategy_.train(step);
  state.position = order_.position();
  return {step.global_examples(), batch.ends_epoch, step.learning_rate};
}

}  // namespace mirrortrain
