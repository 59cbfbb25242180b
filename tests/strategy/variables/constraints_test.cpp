// Weights that are kept within bounds after each update.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "train/training.h"
#include "train/verify_replicas.h"

namespace mirrortrain {
namespace {

const std::string kBounded = "model.layers[0].dense.kernel_constraint={max_norm: {max_value: 0.4}}";

/// The largest norm of a column of the first layer's kernel [6, 7].
double largest_norm(const Training& training) {
  const std::vector<float> kernel = training.variables().at("dense/kernel");
  double largest = 0;
  for (std::size_t column = 0; column < 7; ++column) {
    double squares = 0;
    for (std::size_t row = 0; row < 6; ++row) squares += std::pow(static_cast<double>(kernel[row * 7 + column]), 2);
    largest = std::max(largest, std::sqrt(squares));
  }
  return largest;
}

TEST_CASE("weights are within their bound after every update, by whichever optimizer") {
  for (const char* optimizer : {"sgd", "adam", "lamb", "{type: adam, use_ema: true}"}) {
    CAPTURE(optimizer);
    Training training(kMlp, {kBounded, fmt::format("optimizer={}", optimizer)});
    CHECK(largest_norm(training) > 0.5);
    for (int i = 0; i < 4; ++i) {
      training.steps(1);
      CHECK(largest_norm(training) <= 0.4 * (1 + 1e-6));
    }
  }
}

TEST_CASE("between the updates of accumulated gradients weights are left alone") {
  Training training(kMlp, {kBounded, "gradients.accumulate_steps=2"});
  training.steps(1);
  CHECK(largest_norm(training) > 0.5);
  training.steps(1);
  CHECK(largest_norm(training) <= 0.4 * (1 + 1e-6));
}

TEST_CASE("a frozen layer's weights keep whatever norms they have") {
  Training training(kMlp, {kBounded, "model.layers[0].dense.trainable=false"});
  training.steps(1);
  CHECK(largest_norm(training) > 0.5);
}

TEST_CASE("bounds are the same on any number of replicas, and where each replica has weights of its own") {
  const Training training(kMlp, {kBounded});
  CHECK(verify_replicas(training.checked, {2, 3}, 6).largest() < 1e-5);
  Training own(kMlp, {kBounded, "variables=[{match: \"*/*\", aggregation: none}]"});
  own.steps(2);
  CHECK(own.variables(0) != own.variables(1));
  CHECK(largest_norm(own) <= 0.4 * (1 + 1e-6));
}

}  // namespace
}  // namespace mirrortrain
