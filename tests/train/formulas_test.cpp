// Models with formulas: layers, losses and metrics.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "temporary_folder.h"
#include "train/training.h"
#include "train/training_events.h"

namespace mirrortrain {
namespace {

const std::string kModel = R"yaml(
data:
  global_batch_size: 14
  shuffle: false
  train: {format: synthetic, examples: 50, inputs: {a: {shape: [5]}, b: {shape: [5]}}, label_shape: [2]}
model:
  inputs: {a: {shape: [5]}, b: {shape: [5]}}
  layers:
    - expression:
        formula: "x0 * sigmoid(beta * x1) + max(x0 * shift)"
        parameters: {beta: {shape: [1], initializer: ones}, shift: {shape: [5], initializer: random_uniform, regularizer: {l2: 0.1}}}
        inputs: [a, b]
        name: gate
    - dense: {units: 2}
loss: mean_squared_error
metrics: [mean_absolute_error]
optimizer: {type: sgd, learning_rate: 0.1, momentum: 0.9}
strategy: {type: mirrored, devices: [cpu:0], threads_per_replica: 1}
training: {epochs: 2}
)yaml";

std::string on_devices(const std::string& list, const std::string& more = "") {
  return fmt::format("strategy={{type: mirrored, devices: [{}], threads_per_replica: 1{}}}", list, more);
}

const std::string kSquares = "loss={type: formula, formula: \"mean(square(y_true - y_pred))\"}";

report::Scores scores_after(Training& training, int steps) {
  auto trained = training.training_steps();
  for (int i = 0; i < steps; ++i) trained.train(training.state);
  return scores_of(training.strategy->take_sums().back(), *training.checked.model);
}

TEST_CASE("a layer that is a formula trains the same on any number of replicas") {
  Training one(kModel, {kSquares}), two(kModel, {kSquares, on_devices("cpu:0, cpu:1")}),
      three(kModel, {kSquares, on_devices("cpu:0, cpu:1, cpu:2")});
  const auto losses = one.steps(8), of_two = two.steps(8), of_three = three.steps(8);
  for (std::size_t i = 0; i < losses.size(); ++i) {
    CHECK(of_two[i] == doctest::Approx(losses[i]).epsilon(1e-6));
    CHECK(of_three[i] == doctest::Approx(losses[i]).epsilon(1e-6));
  }
  CHECK(difference(one.variables(), two.variables()) < 2e-6);
  CHECK(difference(one.variables(), three.variables()) < 2e-6);
  CHECK(losses.back() < losses.front());
  CHECK(one.variables().count("gate/beta") == 1);
  CHECK(one.variables().at("gate/shift").size() == 5);
}

TEST_CASE("replicas of a formula have the same bits on fewer devices") {
  Training four(kModel, {kSquares, on_devices("cpu:0, cpu:1, cpu:2, cpu:3")});
  Training two(kModel, {kSquares, on_devices("cpu:0, cpu:1", ", replicas: 4")});
  CHECK(four.steps(6) == two.steps(6));
  CHECK(four.variables() == two.variables());
}

TEST_CASE("a loss given as a formula is the same as one with a name") {
  const std::pair<std::string, std::string> losses[] = {
      {"mean_squared_error", "mean(square(y_true - y_pred))"},
      {"mean_absolute_error", "mean(abs(y_true - y_pred))"},
      {"{type: huber, delta: 0.3}",
       "mean(where(abs(y_pred - y_true) <= 0.3, 0.5 * (y_pred - y_true)**2, 0.3 * (abs(y_pred - y_true) - 0.15)))"},
      {"log_cosh", "mean(log((exp(y_pred - y_true) + exp(y_true - y_pred)) / 2))"},
      {"cosine_similarity", "-sum(y_true * y_pred) * rsqrt(sum(square(y_true))) * rsqrt(sum(square(y_pred)))"},
  };
  for (const auto& [name, formula] : losses) {
    CAPTURE(name);
    Training named(kModel, {"loss=" + name});
    Training given(kModel, {fmt::format("loss={{type: formula, formula: \"{}\"}}", formula)});
    const auto expected = named.steps(6), found = given.steps(6);
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-5));
    CHECK(difference(named.variables(), given.variables()) < 1e-5);
  }
}

TEST_CASE("a metric given as a formula is averaged over all numbers and finished once") {
  Training training(kModel, {"metrics=[mean_absolute_error, mean_squared_error, {formula: {name: mae, formula: "
                             "\"abs(y_true - y_pred)\"}}, {formula: {name: rmse, formula: \"square(y_true - y_pred)\", "
                             "finish: sqrt}}, {formula: {name: one, formula: \"1\", finish: exp}}]"});
  const report::Scores scores = scores_after(training, 1);
  REQUIRE(scores.metrics.size() == 5);
  CHECK(scores.metrics[2].first == "mae");
  CHECK(scores.metrics[2].second == doctest::Approx(scores.metrics[0].second).epsilon(1e-6));
  CHECK(scores.metrics[3].first == "rmse");
  CHECK(scores.metrics[3].second == doctest::Approx(std::sqrt(scores.metrics[1].second)).epsilon(1e-6));
  CHECK(scores.metrics[4].second == doctest::Approx(std::exp(1.0)));
}

TEST_CASE("examples without a label count nothing in a formula, whatever it gives for them") {
  const TemporaryFolder folder;
  const auto with = [&](const std::string& name, const std::string& second, const std::string& source) {
    const std::string file = (folder / (name + ".csv")).string();
    std::ofstream(file) << fmt::format("x,y,w\n1,1,1\n{}\n3,2,1\n4,1.5,1\n", second);
    return fmt::format(R"yaml(
data:
  global_batch_size: 4
  shuffle: false
  train: {{format: csv, file: {}, features: [x], {}}}
model: {{input_shape: [1], layers: [{{dense: {{units: 1, kernel_initializer: ones}}}}]}}
loss: {{type: formula, formula: "mean(log(y_true) * y_pred) + mean(square(y_pred))"}}
optimizer: {{type: sgd, learning_rate: 0.01}}
strategy: {{type: mirrored, devices: [cpu:0], threads_per_replica: 1}}
training: {{epochs: 1}}
)yaml",
                       file, source);
  };
  // A missing label is 0, whose logarithm is infinite.
  Training missing(with("missing", "2,,1", "labels: {column: y, missing: ignore}"));
  Training weightless(with("weightless", "2,1,0", "labels: y, weights: w"));
  const auto losses = missing.steps(3), expected = weightless.steps(3);
  for (std::size_t i = 0; i < losses.size(); ++i) CHECK(losses[i] == doctest::Approx(expected[i]).epsilon(1e-6));
  CHECK(difference(missing.variables(), weightless.variables()) < 1e-6);
}

TEST_CASE("a formula that is computed from parameters alone has a value for every example") {
  Training training(kModel, {"model.layers=[{expression: {formula: \"softmax(w) * 2\", parameters: {w: {shape: [2]}}, "
                             "inputs: [a, b]}}]",
                             kSquares});
  const auto losses = training.steps(20);
  CHECK(losses.back() < losses.front());
}

TEST_CASE("formulas compute in bfloat16 between layers, and losses in float32") {
  Training exact(kModel, {kSquares}), rounded(kModel, {kSquares, "training.precision=mixed_bfloat16"});
  const auto expected = exact.steps(6), found = rounded.steps(6);
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(0.05));
}

}  // namespace
}  // namespace mirrortrain
