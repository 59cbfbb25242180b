// Uses of blocks that are called more than once, in training.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "train/training.h"

namespace mirrortrain {
namespace {

const std::string kStart = R"(
data:
  global_batch_size: 9
  shuffle: false
  train: {format: synthetic, examples: 40, inputs: {a: {shape: [5]}, b: {shape: [5]}}, label_shape: [3]}
loss: mean_squared_error
optimizer: {type: adam, learning_rate: 0.01}
strategy: {type: mirrored, devices: [cpu:0], threads_per_replica: 1}
training: {epochs: 2}
model:
  inputs: {a: {shape: [5]}, b: {shape: [5]}}
)";

const std::string kEnd = R"(
    - concatenate: {inputs: [LEFT, RIGHT]}
    - dense: {units: 3}
)";

std::string end_of(const std::string& left, const std::string& right) {
  std::string text = kEnd;
  text.replace(text.find("LEFT"), 4, left);
  return text.replace(text.find("RIGHT"), 5, right);
}

/// Both towers of a block, the second one called once more: `second` is what calls it.
std::string by_block(const std::string& second) {
  return kStart + R"(
  blocks:
    tower:
      parameters: {units: 5}
      layers:
        - dense: {units: $units, use_bias: false, kernel_regularizer: {l2: 0.02}, name: up}
        - batch_normalization: {momentum: 0.8, name: norm}
        - activation: {activation: tanh}
        - dropout: {rate: 0.25, name: drop}
        - dense: {units: 5, name: down}
        - add: {inputs: [down, input], name: sum}
  layers:
    - tower: {units: 7, inputs: [a], name: left}
)" + second +
         end_of("left", "right");
}

/// The same, written out.
const std::string kWrittenOut = kStart + R"(
  layers:
    - dense: {units: 7, use_bias: false, kernel_regularizer: {l2: 0.02}, name: left_up, inputs: [a]}
    - batch_normalization: {momentum: 0.8, name: left_norm}
    - activation: {activation: tanh}
    - dropout: {rate: 0.25, name: left_drop}
    - dense: {units: 5, name: left_down}
    - add: {inputs: [left_down, a], name: left_sum}
    - reuse: {layer: left_up, inputs: [b], name: right_up}
    - reuse: {layer: left_norm, name: right_norm}
    - activation: {activation: tanh}
    - reuse: {layer: left_drop, name: right_drop}
    - reuse: {layer: left_down, name: right_down}
    - add: {inputs: [right_down, b], name: right_sum}
)" + end_of("left_sum", "right_sum");

const std::string kReuse = "    - reuse: {layer: left, inputs: [b], name: right}\n";

TEST_CASE("a reused block trains as its layers do, called once more one by one") {
  Training reused(by_block(kReuse)), written(kWrittenOut);
  CHECK(reused.steps(8) == written.steps(8));
  const auto variables = reused.variables();
  CHECK(variables == written.variables());
  CHECK(variables.size() == 1 + 4 + 2 + 2);
  for (const auto& [name, values] : variables) CHECK_FALSE(name.starts_with("right"));
}

TEST_CASE("a second use in place of the reuse has weights of its own, which learn something else") {
  Training reused(by_block(kReuse)), separate(by_block("    - tower: {units: 7, inputs: [b], name: right}\n"));
  CHECK(separate.variables().size() == reused.variables().size() + 7);
  CHECK(reused.steps(3) != separate.steps(3));
}

TEST_CASE("a reused block trains the same on any number of replicas") {
  Training one(by_block(kReuse)),
      three(by_block(kReuse), {"strategy={type: mirrored, devices: [cpu:0, cpu:1, cpu:2], threads_per_replica: 1}",
                               "model.blocks.tower.layers[1].batch_normalization.synchronized=true"});
  const auto losses = one.steps(6), of_three = three.steps(6);
  for (std::size_t i = 0; i < losses.size(); ++i) CHECK(of_three[i] == doctest::Approx(losses[i]).epsilon(1e-5));
  CHECK(difference(one.variables(), three.variables()) < 1e-5);
}

TEST_CASE("a frozen block is frozen in all its calls") {
  Training training(by_block(kReuse), {"model.freeze=[left_*]"});
  const auto before = training.variables();
  const auto losses = training.steps(5);
  const auto after = training.variables();
  for (const auto& [name, values] : before) {
    CHECK_MESSAGE((after.at(name) == values) == name.starts_with("left_"), name);
  }
  CHECK(losses.back() != losses.front());
}

TEST_CASE("weights of a model without the reuse are the initial weights of one with it") {
  Training alone(by_block("    - dense: {units: 5, inputs: [b], name: right}\n"));
  alone.steps(2);
  const auto file = alone.folder() / "alone.safetensors";
  save_weights(file, copy_weights(*alone.strategy));
  Training reused(by_block(kReuse), {"model.initial_weights={file: " + file.string() + "}"});
  const auto from = alone.variables(), to = reused.variables();
  for (const auto& [name, values] : to) CHECK_MESSAGE(from.at(name) == values, name);
}

}  // namespace
}  // namespace mirrortrain
