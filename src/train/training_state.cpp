#include "train/training_state.h"

namespace mirrortrain {

UpdateStep next_update(TrainingState& state, std::int64_t accumulate_steps, const LearningRate& learning_rate) {
  ++state.step;
  UpdateStep update;
  update.gradients = state.gradients + 1;
  update.applies = update.gradients >= accumulate_steps;
  state.gradients = update.applies ? 0 : update.gradients;
  if (update.applies) ++state.updates;
  update.updates = state.updates;
  update.learning_rate = learning_rate_at(learning_rate, state.step);
  return update;
}

}  // namespace mirrortrain
