#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/order.h"
#include "temporary_folder.h"
#include "train/session.h"
#include "train/trainer.h"
#include "train/training_state.h"
#include "train/weights.h"

namespace mirrortrain {

/// A configuration's training, step by step.
class Training {
 public:
  explicit Training(const std::string& text, const std::vector<std::string>& overrides = {}) {
    const auto file = folder_.path() / "test.yaml";
    std::ofstream(file) << text;
    checked = check_configuration(file.string(), overrides);
    const Configuration& values = checked.values();
    feeders_ = load_feeders(checked);
    const data::DataOptions& data = values.data;
    order_ = std::make_unique<data::Order>(
        feeders_.train_rows,
        data::Order::Options{data.global_batch_size, data.shuffle, data.drop_remainder, values.seed});
    strategy =
        make_strategy(checked, {batch_sizes(feeders_.train_rows, data.global_batch_size, data.drop_remainder), {}});
    initialize_weights(*checked.model, strategy->variables(), values.seed);
    strategy->variables_changed();
  }

  /// Trains so many steps; returns the loss of each.
  std::vector<double> steps(int count) {
    const Configuration& values = checked.values();
    const LearningRate rate = values.optimizer ? learning_rate_of(*values.optimizer) : LearningRate{};
    std::vector<double> losses;
    for (int i = 0; i < count; ++i) {
      const data::Order::Batch batch = order_->next();
      const UpdateStep update = next_update(state, values.gradients.accumulate_steps, rate);
      strategy->train({feeders_.train.get(), batch.rows, state.step, update});
      const Sums& sums = strategy->take_sums().back();
      state.position = order_->position();
      losses.push_back(sums.loss / static_cast<double>(sums.examples));
    }
    return losses;
  }

  /// A replica's copies of the model's variables, by name.
  std::map<std::string, std::vector<float>> variables(int replica = 0) const {
    std::map<std::string, std::vector<float>> values;
    for (const DistributedVariable& variable : strategy->variables().variables()) {
      const auto elements = variable.copy(replica).span<float>();
      values[variable.name()] = {elements.begin(), elements.end()};
    }
    return values;
  }

  /// Goes on from a checkpoint's state.
  void seek(const TrainingState& to) {
    state = to;
    order_->seek(to.position);
    strategy->variables_changed();
  }

  const data::Feeder& examples() const { return *feeders_.train; }
  const std::filesystem::path& folder() const { return folder_.path(); }

  CheckedConfiguration checked;
  std::unique_ptr<Strategy> strategy;
  TrainingState state;

 private:
  TemporaryFolder folder_;
  FeederSet feeders_;
  std::unique_ptr<data::Order> order_;
};

/// The largest difference between two sets of variables, relative to the largest element of each.
inline double difference(const std::map<std::string, std::vector<float>>& a,
                         const std::map<std::string, std::vector<float>>& b) {
  double worst = 0;
  for (const auto& [name, values] : a) {
    double distance = 0, size = 1e-30;
    for (std::size_t i = 0; i < values.size(); ++i) {
      distance = std::max(distance, std::abs(double(values[i]) - double(b.at(name)[i])));
      size = std::max(size, std::abs(double(values[i])));
    }
    worst = std::max(worst, distance / size);
  }
  return worst;
}

inline constexpr const char* kMlp = R"(
seed: 3
data:
  global_batch_size: 10
  shuffle: false
  train: {format: synthetic, examples: 43, shape: [6], classes: 3, seed: 5}
model:
  input_shape: [6]
  layers:
    - dense: {units: 7, activation: tanh, kernel_regularizer: {l2: 0.01}}
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: sgd, learning_rate: 0.1, momentum: 0.9}
strategy: {type: mirrored, devices: [cpu:0, cpu:1], threads_per_replica: 1}
)";

}  // namespace mirrortrain
