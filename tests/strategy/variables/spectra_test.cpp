// Weights that each training step divides by their largest singular value.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "train/training.h"
#include "train/verify_replicas.h"

namespace mirrortrain {
namespace {

std::string normalized(const std::string& options, const std::string& more = "") {
  return fmt::format(
      "model.layers=[{{spectral_normalization: {{layer: {{dense: {{units: 7, {}}}}}{}, name: first}}}}, {{dense: "
      "{{units: 3}}}}]",
      options, more);
}

/// Of the first layer's kernel [6, 7].
double largest_singular_value(const std::map<std::string, std::vector<float>>& variables) {
  const std::vector<float>& kernel = variables.at("first/kernel");
  std::vector<double> u(7, 1), v(6);
  double length = 0;
  for (int i = 0; i < 500; ++i) {
    for (std::size_t row = 0; row < 6; ++row) {
      v[row] = 0;
      for (std::size_t column = 0; column < 7; ++column)
        v[row] += static_cast<double>(kernel[row * 7 + column]) * u[column];
    }
    for (std::size_t column = 0; column < 7; ++column) {
      u[column] = 0;
      for (std::size_t row = 0; row < 6; ++row) u[column] += static_cast<double>(kernel[row * 7 + column]) * v[row];
    }
    length = 0;
    for (const double one : u) length += one * one;
    length = std::sqrt(length);
    for (double& one : u) one /= length;
  }
  return std::sqrt(length);
}

TEST_CASE("a step begins with weights whose largest singular value is 1, in a frozen layer too") {
  for (const char* trainable : {"", ", trainable: false"}) {
    Training training(kMlp, {normalized("activation: tanh", fmt::format(", power_iterations: 200{}", trainable)),
                             "optimizer={type: sgd, learning_rate: 0.0}"});
    CHECK(largest_singular_value(training.variables()) > 1.1);
    const std::vector<float> before = training.variables().at("first/vector_u");
    training.steps(1);
    CHECK(largest_singular_value(training.variables()) == doctest::Approx(1).epsilon(1e-5));
    CHECK(training.variables().at("first/vector_u") != before);
  }
}

TEST_CASE("the optimizer updates the normalized weights") {
  // One step of gradient descent with weights that only a regularizer changes: w = w / sigma (1 - 2 rate l2).
  const std::string layer = normalized("kernel_regularizer: {l2: 0.1}, kernel_initializer: identity, use_bias: false",
                                       ", power_iterations: 200");
  Training training(kMlp, {layer, "model.layers[1].dense.kernel_initializer=zeros",
                           "model.layers[1].dense.trainable=false", "optimizer={type: sgd, learning_rate: 0.5}"});
  training.steps(1);
  const std::vector<float> kernel = training.variables().at("first/kernel");
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    CHECK(static_cast<double>(kernel[i]) == doctest::Approx(i % 7 == i / 7 ? 0.9 : 0).epsilon(1e-5));
  }
}

TEST_CASE("normalized weights are the same on any number of replicas, and where each replica has weights of its own") {
  const Training training(kMlp, {normalized("activation: relu")});
  CHECK(verify_replicas(training.checked, {2, 3}, 6).largest() < 1e-5);
  Training own(kMlp, {normalized("activation: relu", ", power_iterations: 200"),
                      "variables=[{match: \"*/*\", aggregation: none}]", "optimizer={type: sgd, learning_rate: 0.0}"});
  own.steps(2);
  CHECK(largest_singular_value(own.variables(0)) == doctest::Approx(1).epsilon(1e-4));
  CHECK(largest_singular_value(own.variables(1)) == doctest::Approx(1).epsilon(1e-4));
}

TEST_CASE("weights are normalized at each of the steps whose gradients are accumulated") {
  Training training(kMlp, {normalized("activation: relu", ", power_iterations: 200"), "gradients.accumulate_steps=3"});
  training.steps(1);
  CHECK(largest_singular_value(training.variables()) == doctest::Approx(1).epsilon(1e-5));
}

}  // namespace
}  // namespace mirrortrain
