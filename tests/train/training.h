#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "temporary_folder.h"
#include "train/checkpoint/weights.h"
#include "train/session/check_configuration.h"
#include "train/session/run.h"
#include "train/training_steps.h"

namespace mirrortrain {

/// A configuration's training, step by step.
class Training {
 public:
  explicit Training(const std::string& text, const std::vector<std::string>& overrides = {},
                    const Hardware& hardware = this_hardware()) {
    const auto file = folder_.path() / "test.yaml";
    std::ofstream(file) << text;
    checked = check_configuration(file.string(), overrides, [&](const std::string& name) -> std::optional<std::string> {
      if (name != "TF_CONFIG" || hardware.cluster.workers == 1) return std::nullopt;
      return tf_config(hardware.cluster);
    });
    run_ = build_run(checked, {.evaluates = {data::Split::kTrain}}, hardware);
    strategy = run_.strategy.get();
    steps_.emplace(run_, checked.values());
    set_first_values(checked, *strategy);
  }

  /// Trains so many steps, waiting for each; returns the loss of each.
  std::vector<double> steps(int count) {
    std::vector<double> losses;
    for (int i = 0; i < count; ++i) {
      step();
      take_losses(losses);
    }
    return losses;
  }

  /// Waits only where it has to.
  std::vector<double> steps_in_flight(int count) {
    std::vector<double> losses;
    for (int i = 0; i < count; ++i) {
      if (strategy->must_take_sums()) take_losses(losses);
      step();
    }
    take_losses(losses);
    return losses;
  }

  /// A replica's copies of the model's variables, by name.
  std::map<std::string, std::vector<float>> variables(int replica = 0) const {
    std::map<std::string, std::vector<float>> values;
    strategy->read_variables(Lasting::kValues, [&](const LastingVariable& variable) {
      const auto elements = variable.value.copy(replica).span<float>();
      values[variable.value.name()] = {elements.begin(), elements.end()};
    });
    return values;
  }

  /// Resumes from a checkpoint's state.
  void seek(const TrainingState& to) {
    state = to;
    steps_->seek(to);
  }

  const data::Order& order() const { return *run_.order; }
  const data::Feeder& examples() const { return *run_.train; }
  const std::filesystem::path& folder() const { return folder_.path(); }
  TrainingSteps training_steps() { return *steps_; }

  CheckedConfiguration checked;
  Strategy* strategy = nullptr;
  TrainingState state;

 private:
  void step() { steps_->train(state); }

  static std::string tf_config(const Cluster& cluster) {
    std::string workers;
    for (int i = 0; i < cluster.workers; ++i)
      workers += (i > 0 ? ", " : "") + ("\"127.0.0.1:" + std::to_string(2000 + i)) + "\"";
    return R"({"cluster": {"worker": [)" + workers + R"(]}, "task": {"type": "worker", "index": )" +
           std::to_string(cluster.worker) + "}}";
  }

  void take_losses(std::vector<double>& losses) const {
    for (const StepSums& sums : strategy->take_sums()) losses.push_back(sums.loss / static_cast<double>(sums.examples));
  }

  TemporaryFolder folder_;
  Run run_;
  std::optional<TrainingSteps> steps_;
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
