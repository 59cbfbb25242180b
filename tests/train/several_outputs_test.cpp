// Models with several inputs, outputs and losses, and layers that are called more than once.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "temporary_folder.h"
#include "train/training.h"
#include "train/training_events.h"

namespace mirrortrain {
namespace {

using Overrides = std::vector<std::string>;

const std::string kTwoOutputs = R"(
data:
  global_batch_size: 14
  shuffle: false
  train:
    format: synthetic
    examples: 50
    inputs: {user: {shape: [], below: 7}, context: {shape: [4]}}
    labels: {rating: {label_shape: [1]}, clicked: {classes: 3}}
model:
  inputs: {user: {shape: []}, context: {shape: [4]}}
  layers:
    - embedding: {input_dim: 7, output_dim: 4, inputs: [user], name: users}
    - dense: {units: 4, activation: tanh, inputs: [context], name: tower, kernel_regularizer: {l2: 0.01}}
    - dot: {inputs: [users, tower], axes: 1, name: match}
    - concatenate: {inputs: [users, tower, match], name: all}
    - dense: {units: 1, inputs: [all], name: rating}
    - dense: {units: 3, inputs: [all], name: clicked}
  outputs: [rating, clicked]
loss:
  rating: mean_squared_error
  clicked: {type: sparse_categorical_crossentropy, from_logits: true, weight: 0.3}
metrics: {rating: [mean_absolute_error], clicked: [accuracy]}
optimizer: {type: sgd, learning_rate: 0.1, momentum: 0.9}
strategy: {type: mirrored, devices: [cpu:0], threads_per_replica: 1}
training: {epochs: 2}
)";

Overrides devices(const std::string& list, const std::string& more = "") {
  return {fmt::format("strategy={{type: mirrored, devices: [{}], threads_per_replica: 1{}}}", list, more)};
}

TEST_CASE("several inputs and outputs train the same on any number of replicas, whatever becomes of gradients") {
  for (const char* const gradients :
       {"gradients={}", "gradients={accumulate_steps: 2}", "gradients={clip_norm: 0.05}"}) {
    CAPTURE(gradients);
    Overrides one = devices("cpu:0"), two = devices("cpu:0, cpu:1"), three = devices("cpu:0, cpu:1, cpu:2");
    for (Overrides* const overrides : {&one, &two, &three}) overrides->push_back(gradients);
    Training a(kTwoOutputs, one), b(kTwoOutputs, two), c(kTwoOutputs, three);
    const auto losses = a.steps(8), of_two = b.steps(8), of_three = c.steps(8);
    for (std::size_t i = 0; i < losses.size(); ++i) {
      CHECK(of_two[i] == doctest::Approx(losses[i]).epsilon(1e-6));
      CHECK(of_three[i] == doctest::Approx(losses[i]).epsilon(1e-6));
    }
    CHECK(difference(a.variables(), b.variables()) < 2e-6);
    CHECK(difference(a.variables(), c.variables()) < 2e-6);
    CHECK(losses.back() < losses.front());
  }
}

TEST_CASE("the replicas of several outputs have the same bits on fewer devices") {
  Training four(kTwoOutputs, devices("cpu:0, cpu:1, cpu:2, cpu:3"));
  Training two(kTwoOutputs, devices("cpu:0, cpu:1", ", replicas: 4"));
  CHECK(four.steps(6) == two.steps(6));
  CHECK(four.variables() == two.variables());
}

TEST_CASE("the loss is the weighted sum of the outputs' losses, which are reported without weights") {
  Training training(kTwoOutputs);
  auto steps = training.training_steps();
  steps.train(training.state);
  const StepSums sums = training.strategy->take_sums().back();
  REQUIRE(sums.losses.size() == 2);
  double regularization = 0;
  Training untrained(kTwoOutputs);
  const auto variables = untrained.variables();
  for (const float weight : variables.at("tower/kernel")) {
    regularization += 0.01 * std::pow(static_cast<double>(weight), 2);
  }
  const auto examples = static_cast<double>(sums.examples);
  CHECK(sums.loss / examples ==
        doctest::Approx(sums.losses[0] / examples + 0.3 * sums.losses[1] / examples + regularization).epsilon(1e-6));
  const report::Scores scores = scores_of(sums, *training.checked.model);
  std::vector<std::string> names;
  for (const auto& [name, value] : scores.metrics) names.push_back(name);
  CHECK(names ==
        std::vector<std::string>{"rating_loss", "rating_mean_absolute_error", "clicked_loss", "clicked_accuracy"});
  CHECK(scores.metrics[2].second == doctest::Approx(sums.losses[1] / examples));
}

TEST_CASE("an output whose loss weighs nothing changes no weight that others use") {
  Training both(kTwoOutputs, {"loss.clicked.weight=0"});
  Training one(kTwoOutputs,
               {"model.outputs=[rating]", "loss={rating: mean_squared_error}",
                "metrics={rating: [mean_absolute_error]}", "data.train.labels={rating: {label_shape: [1]}}"});
  both.steps(5);
  one.steps(5);
  const auto of_both = both.variables(), of_one = one.variables();
  CHECK(of_one.count("clicked/kernel") == 0);
  for (const auto& [name, values] : of_one) CHECK_MESSAGE(of_both.at(name) == values, name);
}

TEST_CASE("weights by output count alike in tables and in arrays") {
  const TemporaryFolder folder;
  std::ofstream(folder / "a.csv") << "x,y,z,w\n1,1,2,1\n2,1,3,0.5\n3,2,5,0\n4,1.5,6,3\n";
  const auto with = [&](const std::string& source) {
    return fmt::format(R"yaml(
data: {{global_batch_size: 4, shuffle: false, train: {{{}}}}}
model:
  inputs: {{x: {{shape: [1]}}}}
  layers: [{{dense: {{units: 1, name: y, inputs: [x]}}}}, {{dense: {{units: 1, name: z, inputs: [x]}}}}]
  outputs: [y, z]
loss: mean_squared_error
optimizer: {{type: sgd, learning_rate: 0.01}}
strategy: {{type: mirrored, devices: [cpu:0], threads_per_replica: 1}}
training: {{epochs: 1}}
)yaml",
                       source);
  };
  const std::string table =
      fmt::format("format: csv, file: {}, inputs: {{x: [x]}}, labels: {{y: y, z: z}}", (folder / "a.csv").string());
  const std::string lists =
      "format: inline, inputs: {x: [[1], [2], [3], [4]]}, labels: {y: [1, 1, 2, 1.5], z: [2, 3, 5, 6]}";
  for (const auto& [of_table, of_lists] : {std::pair("weights: w", "weights: [1, 0.5, 0, 3]"),
                                           std::pair("weights: {z: w}", "weights: {z: [1, 0.5, 0, 3]}")}) {
    Training a(with(table + ", " + of_table)), b(with(lists + ", " + of_lists)), unweighted(with(lists));
    CHECK(a.steps(3) == b.steps(3));
    CHECK(a.variables() == b.variables());
    unweighted.steps(3);
    CHECK(difference(a.variables(), unweighted.variables()) > 1e-3);
  }
}

const std::string kSiamese = R"(
data:
  global_batch_size: 8
  shuffle: false
  train: {format: synthetic, examples: 24, inputs: {a: {shape: [5]}, b: {shape: [5]}}, label_shape: [3]}
model:
  inputs: {a: {shape: [5]}, b: {shape: [5]}}
  layers: LAYERS
loss: mean_squared_error
optimizer: {type: sgd, learning_rate: 0.1}
strategy: {type: mirrored, devices: [cpu:0], threads_per_replica: 1}
training: {epochs: 1}
)";

std::string siamese(const std::string& layers) {
  std::string text = kSiamese;
  return text.replace(text.find("LAYERS"), 6, "[" + layers + "]");
}

TEST_CASE("the gradients of a layer that is called twice add up, and its regularizer counts once") {
  // Without a bias, W a + W b = W (a + b).
  const std::string tower = "{dense: {units: 3, use_bias: false, name: tower, kernel_regularizer: {l2: 0.1}, inputs: [";
  Training twice(siamese(tower + "a]}}, {reuse: {layer: tower, inputs: [b]}}, {add: {inputs: [tower, reuse]}}"));
  Training once(siamese("{add: {inputs: [a, b], name: sum}}, " + tower + "sum]}}"));
  const auto losses = twice.steps(6), expected = once.steps(6);
  for (std::size_t i = 0; i < losses.size(); ++i) CHECK(losses[i] == doctest::Approx(expected[i]).epsilon(1e-6));
  CHECK(difference(twice.variables(), once.variables()) < 1e-5);
  CHECK(twice.checked.model->variables.size() == 1);
}

TEST_CASE("a batch normalization that is called twice moves its statistics twice, in the file's order") {
  const std::string norm = "{batch_normalization: {name: norm, momentum: 0.75, inputs: [a]}}";
  const std::string end = ", {concatenate: {inputs: [norm, LAST], name: all}}, {dense: {units: 3}}";
  const auto with = [&](const std::string& middle, const std::string& last) {
    std::string layers = norm + middle + end;
    return siamese(layers.replace(layers.find("LAST"), 4, last));
  };
  Training both(with(", {reuse: {layer: norm, inputs: [b], name: second}}", "second"));
  Training of_a(with("", "b"));
  const std::string swapped = "{batch_normalization: {name: norm, momentum: 0.75, inputs: [b]}}";
  Training of_b(siamese(swapped + ", {concatenate: {inputs: [norm, a], name: all}}, {dense: {units: 3}}"));
  both.steps(1);
  of_a.steps(1);
  of_b.steps(1);
  const auto mean = [](const Training& training) { return training.variables().at("norm/moving_mean"); };
  // From 0, one update gives (1 - m) times the batch's mean; the second goes on from the first.
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(mean(both)[i] == doctest::Approx(0.75f * mean(of_a)[i] + mean(of_b)[i]).epsilon(1e-5));
  }
}

TEST_CASE("dropout that is called twice draws anew") {
  const std::string end = "{add: {inputs: [difference, b]}}, {dense: {units: 3, kernel_initializer: ones}}";
  const std::string drop = "{dropout: {rate: 0.5, inputs: [a], name: drop}}, ";
  Training twice(siamese(drop +
                         "{reuse: {layer: drop, inputs: [a]}}, {subtract: {inputs: [drop, reuse], name: "
                         "difference}}, " +
                         end));
  Training once(siamese(drop + "{subtract: {inputs: [drop, drop], name: difference}}, " + end));
  CHECK(twice.steps(1).front() != doctest::Approx(once.steps(1).front()));
}

}  // namespace
}  // namespace mirrortrain
