// Gradients that the update makes itself, in whole trainings.
#include "strategy/reduction/deferred_gradients.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "kernels/host_kernels.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

using Overrides = std::vector<std::string>;

constexpr const char* kWideMlp = R"(
seed: 3
data:
  global_batch_size: 10
  train: {format: synthetic, examples: 43, shape: [12, 12], classes: 16, seed: 5}
model:
  input_shape: [12, 12]
  layers:
    - flatten
    - dense: {units: 128, activation: relu}
    - dense: {units: 128, activation: tanh}
    - dense: {units: 16}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: adam, learning_rate: 0.001}
strategy: {type: mirrored, devices: [cpu:0, cpu:1], threads_per_replica: 1}
)";

constexpr const char* kMixed = "training.precision=mixed_bfloat16";

bool multiplies_bfloat16() { return host_backend().step_kernels().supports_product(128, DType::kBfloat16); }

Overrides on(int devices, Overrides overrides = {}) {
  std::string list = "strategy.devices=[cpu:0";
  for (int i = 1; i < devices; ++i) list += fmt::format(",cpu:{}", i);
  overrides.push_back(list + "]");
  return overrides;
}

std::size_t product_gradients(const Training& training) {
  return find_product_gradients(*training.checked.model, training.checked.policies(), host_backend().step_kernels())
      .size();
}

TEST_CASE("large dense kernels are updated from their products, small and shared ones from stored gradients") {
  CHECK(product_gradients(Training(kWideMlp)) == 2);
  CHECK(product_gradients(Training(kWideMlp, {kMixed})) == (multiplies_bfloat16() ? 2 : 0));
  CHECK(product_gradients(Training(kWideMlp, {"model.layers[1].dense.kernel_regularizer={l2: 0.1}"})) == 1);
  CHECK(product_gradients(
            Training(kWideMlp, {"model.layers=[{dense: {units: 2048}}, {flatten: {}}, {dense: {units: 16}}]"})) == 1);
  CHECK(product_gradients(Training(kWideMlp, {R"(variables=[{match: "dense/*", aggregation: sum}])"})) == 1);
}

TEST_CASE("a gradient that is never stored trains as a stored one, with replicas of any size") {
  for (const int replicas : {1, 2, 3, 16}) {
    CAPTURE(replicas);
    Training made(kWideMlp, on(replicas)), stored(kWideMlp, on(replicas, {"strategy.cross_device_ops=ring"}));
    const auto losses = made.steps(9), expected = stored.steps(9);
    for (std::size_t i = 0; i < losses.size(); ++i) CHECK(losses[i] == doctest::Approx(expected[i]).epsilon(1e-5));
    CHECK(made.strategy->memory().variables < stored.strategy->memory().variables);
  }
}

TEST_CASE("in mixed precision a gradient that is never stored trains close to a stored one") {
  for (const int replicas : {1, 2, 3}) {
    CAPTURE(replicas);
    Training made(kWideMlp, on(replicas, {kMixed})),
        stored(kWideMlp, on(replicas, {kMixed, "strategy.cross_device_ops=ring"}));
    const auto losses = made.steps(9), expected = stored.steps(9);
    for (std::size_t i = 0; i < losses.size(); ++i) CHECK(losses[i] == doctest::Approx(expected[i]).epsilon(1e-2));
    if (multiplies_bfloat16()) CHECK(made.strategy->memory().variables < stored.strategy->memory().variables);
  }
}

TEST_CASE("the same replicas give the same bits on any number of devices") {
  for (const char* precision : {"training.precision=float32", kMixed}) {
    CAPTURE(precision);
    Training reference(kWideMlp, on(1, {"strategy.replicas=8", precision}));
    const auto losses = reference.steps(9);
    for (const int devices : {2, 4, 8}) {
      Training other(kWideMlp, on(devices, {"strategy.replicas=8", precision}));
      CHECK(other.steps(9) == losses);
      CHECK(other.variables() == reference.variables());
    }
  }
}

}  // namespace
}  // namespace mirrortrain
