// Policies of variables in whole trainings. How far each is from tf.distribute is in the golden tests.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/error.h"
#include "error_text.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

std::string rule(const char* match, const char* synchronization, const char* aggregation) {
  return fmt::format("variables=[{{match: \"{}\", synchronization: {}, aggregation: {}}}]", match, synchronization,
                     aggregation);
}

TEST_CASE("with an even split, sum moves the weights N times as far as mean") {
  const std::string plain = "optimizer.momentum=0";
  Training mean(kMlp, {plain}), sum(kMlp, {plain, rule("*", "auto", "sum")});
  const auto start = mean.variables();
  mean.steps(1);
  sum.steps(1);
  for (const auto& [name, before] : start) {
    CAPTURE(name);
    const auto after_mean = mean.variables().at(name), after_sum = sum.variables().at(name);
    for (std::size_t i = 0; i < before.size(); ++i) {
      CHECK(after_sum[i] - before[i] == doctest::Approx(2 * (after_mean[i] - before[i])).epsilon(1e-3));
    }
  }
}

TEST_CASE("with none, every replica trains on its own examples alone") {
  Training both(kMlp, {rule("*", "on_write", "none")});
  both.steps(1);
  CHECK(difference(both.variables(0), both.variables(1)) > 1e-3);
  // Replica 0's first five rows of the first batch, as a training of their own.
  Training alone(kMlp, {"strategy.devices=[cpu:0]", "data.global_batch_size=5"});
  alone.steps(1);
  CHECK(difference(both.variables(0), alone.variables()) < 1e-6);
}

TEST_CASE("with only_first_replica, every replica takes replica 0's gradient") {
  Training both(kMlp, {rule("*", "auto", "only_first_replica")});
  both.steps(1);
  Training alone(kMlp, {"strategy.devices=[cpu:0]", "data.global_batch_size=5"});
  alone.steps(1);
  CHECK(difference(both.variables(1), alone.variables()) < 1e-6);
}

TEST_CASE("policies act alike whatever adds the gradients") {
  for (const char* aggregation : {"sum", "only_first_replica", "none", "mean"}) {
    CAPTURE(aggregation);
    const std::string rules = fmt::format("variables=[{{match: \"*/kernel\", aggregation: {}}}]", aggregation);
    Training one_pass(kMlp, {rules}), ring(kMlp, {rules, "strategy.cross_device_ops=ring"});
    const auto losses = one_pass.steps(6), same = ring.steps(6);
    for (std::size_t i = 0; i < losses.size(); ++i) CHECK(same[i] == doctest::Approx(losses[i]).epsilon(2e-6));
    for (const int replica : {0, 1}) {
      CHECK(difference(one_pass.variables(replica), ring.variables(replica)) < 1e-5);
    }
  }
}

constexpr const char* kBatchNorm = R"(
data:
  global_batch_size: 8
  train: {format: synthetic, examples: 24, shape: [5], classes: 2}
model:
  input_shape: [5]
  layers:
    - dense: {units: 4}
    - batch_normalization: {momentum: 0.5}
    - dense: {units: 2}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: adam}
strategy: {type: mirrored, devices: [cpu:0, cpu:1]}
)";

TEST_CASE("moving statistics follow their policy") {
  const std::string name = "batch_normalization/moving_mean";
  const auto train = [](const char* synchronization, const char* aggregation) {
    auto training =
        std::make_unique<Training>(kBatchNorm, std::vector{rule("*/moving_*", synchronization, aggregation)});
    training->steps(1);
    return training;
  };
  const auto own = train("on_read", "mean");
  const auto first = own->variables(0).at(name), second = own->variables(1).at(name);
  CHECK(first != second);
  const auto combined = [&](const char* aggregation, auto expected) {
    CAPTURE(aggregation);
    const auto training = train("on_write", aggregation);
    for (std::size_t i = 0; i < first.size(); ++i) {
      CHECK(training->variables(0).at(name)[i] == doctest::Approx(expected(i)).epsilon(1e-5));
    }
    CHECK(training->variables(1).at(name) == training->variables(0).at(name));
  };
  combined("mean", [&](std::size_t i) { return (first[i] + second[i]) / 2; });
  combined("sum", [&](std::size_t i) { return first[i] + second[i]; });
  combined("only_first_replica", [&](std::size_t i) { return first[i]; });
  CHECK(train("on_write", "none")->variables(1).at(name) == second);
  CHECK(train("none", "none")->variables(1).at(name) == second);
}

TEST_CASE("the first rule that matches counts, and what it leaves out stays") {
  const Training training(
      kBatchNorm, {R"(variables=[{match: "*/moving_m*", aggregation: sum}, {match: "*", synchronization: auto}])"});
  const auto policy = [&](std::size_t i) { return training.checked.variables[i].policy.text(); };
  const auto& names = training.checked.model->variables;
  for (std::size_t i = 0; i < names.size(); ++i) {
    CAPTURE(names[i].spec.name);
    if (names[i].spec.name.ends_with("moving_mean"))
      CHECK(policy(i) == "on_read x sum");
    else
      CHECK(policy(i) == "on_write x mean");
  }
}

TEST_CASE("a policy that a variable cannot have is refused at its rule, with the legal ones") {
  const std::string text = error_text([] { Training(kBatchNorm, {rule("dense/*", "on_read", "mean")}); });
  CHECK(contains(text, "--set variables"));
  CHECK(contains(text, "dense/kernel: on_read x mean: a trainable variable is written by the optimizer"));
  CHECK(contains(text, "legal are auto and on_write with none, sum, mean or only_first_replica"));
  CHECK(contains(error_text([] { Training(kBatchNorm, {rule("*", "none", "sum")}); }),
                 "none x sum: copies that are never synchronized are never aggregated"));
}

TEST_CASE("one device keeps one plain copy") {
  const Training training(kBatchNorm, {"strategy={type: one_device, devices: [cpu:0]}"});
  for (const ResolvedVariable& variable : training.checked.variables) {
    CHECK(variable.policy.readable_outside());
    CHECK(contains(variable.why, "one plain copy"));
  }
}

}  // namespace
}  // namespace mirrortrain
