// What training.on_non_finite: skip leaves out.
#include "train/checkpoint/non_finite.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/files.h"
#include "error_text.h"
#include "train/trainer.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

using Overrides = std::vector<std::string>;

constexpr const char* kNetwork = R"(
seed: 3
data:
  global_batch_size: 4
  shuffle: false
  train: {format: inline, features: [[1, 2]], labels: [[1]]}
model:
  input_shape: [2]
  layers:
    - dense: {units: 5, activation: tanh}
    - batch_normalization: {momentum: 0.5}
    - dense: {units: 1, kernel_regularizer: {l2: 0.01}}
loss: {type: mean_squared_error}
optimizer: {type: adam, learning_rate: 0.1}
training: {on_non_finite: skip}
strategy: {type: one_device, devices: [cpu:0]}
)";

constexpr const char* kLinear = "model={input_shape: [2], layers: [{dense: {units: 1}}]}";

constexpr int kBad = -1, kHuge = -2;

/// Batches of four examples by their numbers; the third example of a bad one has a label whose error squared overflows.
/// In a huge one the gradients do.
std::string data_of(const std::vector<int>& batches) {
  std::string features, labels;
  for (const int batch : batches) {
    for (int i = 0; i < 4; ++i) {
      const double x = batch == kHuge ? 1e19 : 0.3 * batch + 0.7 * i - 1,
                   label = batch == kBad && i == 2 ? 1e30 : 2 * x;
      features += fmt::format("{}[{}, {}]", features.empty() ? "" : ", ", x, x * x - 1);
      labels += fmt::format("{}[{}]", labels.empty() ? "" : ", ", label);
    }
  }
  return fmt::format("{{format: inline, features: [{}], labels: [{}]}}", features, labels);
}

struct Result {
  std::map<std::string, std::vector<float>> variables;
  TrainingState state;
  std::vector<report::StepEvent> steps;
};

Result train_on(const std::string& data, Overrides overrides) {
  overrides.push_back("data.train=" + data);
  Training training(kNetwork, overrides);
  Checkpoints checkpoints(training.folder() / "checkpoints", *training.strategy,
                          {training.checked.model->slot_names(), {}}, {});
  Result result;
  const Configuration& values = training.checked.values();
  TrainerOptions options{.epochs = 1, .log_every_steps = 1, .batch_size = 4};
  options.on_non_finite = values.training.on_non_finite;
  const auto emit = [&](const report::Event& event) {
    if (const auto* step = std::get_if<report::StepEvent>(&event)) result.steps.push_back(*step);
  };
  Trainer trainer(*training.strategy, training.training_steps(), *training.checked.model, nullptr, checkpoints, options,
                  emit, [](std::int64_t) { return 0; });
  result.state = trainer.run({});
  result.variables = training.variables();
  return result;
}

Result train(const std::vector<int>& batches, const Overrides& overrides) {
  return train_on(data_of(batches), overrides);
}

TEST_CASE("a skipped step changes nothing: the rest trains as if its batch were not there") {
  for (const int replicas : {1, 2, 3}) {
    for (const char* gradients : {"{}", "{clip_norm: 0.1}", "{clip_value: 0.01}"}) {
      CAPTURE(replicas);
      CAPTURE(std::string(gradients));
      const Overrides overrides = {fmt::format("strategy={{type: mirrored, devices: [cpu:0, cpu:1], replicas: {}, "
                                               "threads_per_replica: 1}}",
                                               2 * replicas),
                                   std::string("gradients=") + gradients};
      const Result with = train({0, kBad, 1, 2, kBad}, overrides), without = train({0, 1, 2}, overrides);
      CHECK(with.variables == without.variables);
      CHECK(with.state.step == 5);
      CHECK(with.state.updates == 3);
      CHECK(with.state.epoch_sums.loss == without.state.epoch_sums.loss);
      CHECK(with.state.epoch_sums.examples == 12);
      REQUIRE(with.steps.size() == 5);
      CHECK(!with.steps[1].scores);
      CHECK(with.steps[2].scores->loss == without.steps[1].scores->loss);
    }
  }
}

TEST_CASE("a weight of 0 does not save a batch whose loss is not finite, and weighted batches are skipped alike") {
  const TemporaryFolder folder;
  const auto data_with = [&](const std::vector<int>& batches) {
    std::string rows = "a,b,w,y\n";
    for (const int batch : batches) {
      for (int i = 0; i < 4; ++i) {
        const double x = 0.3 * batch + 0.7 * i - 1;
        const bool is_bad = batch == kBad && i == 2;
        rows += fmt::format("{},{},{},{}\n", x, x * x - 1, is_bad ? 0 : 0.5 + i, is_bad ? 1e30 : 2 * x);
      }
    }
    write_file(folder / "a.csv", rows);
    return fmt::format("{{format: csv, file: {}, labels: [y], weights: w}}", (folder / "a.csv").string());
  };
  for (const int replicas : {1, 2, 3}) {
    CAPTURE(replicas);
    const Overrides overrides = {
        fmt::format("strategy={{type: mirrored, devices: [cpu:0], replicas: {}, threads_per_replica: 1}}", replicas)};
    const Result with = train_on(data_with({0, kBad, 1, 2, kBad}), overrides),
                 without = train_on(data_with({0, 1, 2}), overrides), unweighted = train({0, 1, 2}, overrides);
    CHECK(with.variables == without.variables);
    CHECK(with.variables != unweighted.variables);
    CHECK(with.state.updates == 3);
    CHECK(with.state.epoch_sums.loss == without.state.epoch_sums.loss);
  }
}

TEST_CASE("of accumulated steps one that is not finite skips the update they are for, and no other") {
  const Overrides overrides = {"gradients.accumulate_steps=2", kLinear};
  const Result with = train({0, 1, 2, kBad, kBad, 3, 4, 5}, overrides);
  CHECK(with.state.updates == 2);
  CHECK(with.variables == train({0, 1, 4, 5}, overrides).variables);
}

TEST_CASE("where a policy gives each replica its own copy, one replica's bad gradient skips the step for all") {
  const Overrides overrides = {"strategy={type: mirrored, devices: [cpu:0, cpu:1], threads_per_replica: 1}",
                               "variables=[{match: \"*\", aggregation: none, synchronization: on_write}]"};
  CHECK(train({0, kBad, 1}, overrides).variables == train({0, 1}, overrides).variables);
}

TEST_CASE("twenty skipped steps in a row end the run") {
  std::vector<int> batches(25, kBad);
  batches[0] = 0;
  const std::string text = error_text([&] { train(batches, {}); });
  CHECK(text.find("step 21 (epoch 1): 20 steps in a row are skipped: the loss is not finite") == 0);
  const std::string huge = error_text([&] { train(std::vector<int>(25, kHuge), {kLinear}); });
  CHECK(huge.find("step 20 (epoch 1): 20 steps in a row are skipped: the gradient of dense/kernel is not finite") == 0);
  batches[10] = 1;
  CHECK(train(batches, {}).state.updates == 2);
}

TEST_CASE("parameter servers cannot skip") {
  const std::string text = error_text([&] { train({0}, {"strategy={type: parameter_server}"}); });
  CHECK(text.find("on_non_finite: skip needs all gradients at once") != std::string::npos);
}

}  // namespace
}  // namespace mirrortrain
