// Weights and gradients divided among memories: gathered for the layers that read them, summed in parts.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <utility>
#include <vector>

#include "every_pair.h"
#include "strategy/mirrored/mirrored_strategy.h"
#include "strategy/mirrored/trained_result.h"

namespace mirrortrain {
namespace {

using testing::check_alike;
using testing::check_resumes;
using testing::on_workers;
using testing::replicas_on_cpus;
using testing::Result;
using testing::run_workers;
using testing::RunToResume;
using testing::trained_by;

/// Sizes that no number of memories divides, and a last batch of two examples; the first and the last weights are too
/// small to be divided.
constexpr const char* kDense = R"(
seed: 3
data:
  global_batch_size: 12
  shuffle: true
  train: {format: synthetic, examples: 38, shape: [9], classes: 3, seed: 5}
model:
  input_shape: [9]
  layers:
    - dense: {units: 67, activation: tanh, kernel_regularizer: {l2: 0.01}}
    - batch_normalization: {momentum: 0.5, synchronized: true}
    - dense: {units: 131, activation: relu, kernel_regularizer: {l1: 0.0001, l2: 0.01}}
    - dense: {units: 41, activation: tanh}
    - dense: {units: 67, activation: relu, name: late}
    - dense: {units: 3, bias_regularizer: {l1: 0.002}}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam, learning_rate: 0.01}
)";

/// Attention, an embedding read by two layers, convolutions, recurrent units, dropout, a block and recomputation.
constexpr const char* kLayers = R"(
seed: 4
data:
  global_batch_size: 12
  train: {format: synthetic, examples: 36, inputs: {input: {shape: [12], below: 61}}, classes: 5, seed: 5}
model:
  input_shape: [12]
  layers:
    - embedding: {input_dim: 61, output_dim: 32, name: words}
    - multi_head_attention: {num_heads: 4, key_dim: 8, name: attention, use_bias: false}
    - add: {inputs: [words, attention], name: sum}
    - layer_normalization: {}
    - dropout: {rate: 0.2}
    - conv1d: {filters: 40, kernel_size: 3, padding: same, activation: relu, name: convolution}
    - bidirectional: {layer: {lstm: {units: 24}}, name: recurrent}
    - dense: {units: 5}
  recompute: [convolution]
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: sgd, learning_rate: 0.1, momentum: 0.9}
)";

constexpr const char* kGradients = ", optimizer_state: sharded_gradients";
constexpr const char* kWeights = ", optimizer_state: sharded_weights";

TEST_CASE("divided weights are those of replicated ones") {
  const std::vector<std::vector<std::string>> variants = {
      {},
      {"optimizer={type: sgd, learning_rate: 0.1, momentum: 0.9, nesterov: true}"},
      {"optimizer={type: adamw, learning_rate: 0.01, weight_decay: 0.1, use_ema: true, ema_momentum: 0.8}"},
      {"optimizer={type: adamw, learning_rate: 0.01, use_ema: true, ema_overwrite_frequency: 3}"},
      {"gradients.clip_norm=0.2"},
      {"gradients={accumulate_steps: 3, clip_norm: 0.3}"},
      {"training.on_non_finite=skip"},
      {"variables=[{match: \"dense_1/*\", aggregation: sum}]", "gradients.clip_norm=0.2"},
      {"variables=[{match: \"late/*\", synchronization: none, aggregation: none}]", "gradients.clip_norm=0.2"},
      {"training.precision=mixed_bfloat16"},
  };
  for (const auto& [more, replicas, state] : testing::every_pair(
           variants, std::vector<std::pair<int, int>>{{2, 1}, {2, 2}, {3, 1}}, std::array{kGradients, kWeights})) {
    const auto& [workers, each] = replicas;
    CAPTURE(more.empty() ? std::string("adam") : more.front());
    CAPTURE(workers);
    CAPTURE(std::string(state));
    const Result expected = on_workers(kDense, workers, each, "", more),
                 found = on_workers(kDense, workers, each, state, more);
    check_alike(expected, found, 2e-6, 5e-6);
  }
  check_alike(on_workers(kDense, 4, 1, "", {}), on_workers(kDense, 4, 1, kWeights, {}), 2e-6, 5e-6);
}

/// The first layers are computed long before the large kernel is here.
TEST_CASE("a layer waits for weights that are gathered while those before it compute") {
  const std::vector<std::string> late = {"model.layers[2].dense.units=2000", "model.layers[3].dense.units=1000",
                                         "strategy.communication.bytes_per_pack=4096"};
  const auto result = [&](const std::string& state) {
    return trained_by(2, kDense, replicas_on_cpus(1, state), late, 4, this_hardware, true);
  };
  const Result expected = result("");
  for (const char* state : {", optimizer_state: sharded", kGradients, kWeights}) {
    CAPTURE(std::string(state));
    check_alike(expected, result(state), 2e-6, 5e-6);
  }
}

TEST_CASE("divided weights work in every layer, and where layers are divided too") {
  for (const char* mesh : {"", ", mesh: {data: 2, model: 2}"}) {
    CAPTURE(std::string(mesh));
    const Result expected = on_workers(kLayers, 2, 2, mesh, {});
    for (const char* state : {kGradients, kWeights}) {
      const Result found = on_workers(kLayers, 2, 2, mesh + std::string(state), {}),
                   again = on_workers(kLayers, 2, 2, mesh + std::string(state), {});
      CHECK(difference(expected.variables, found.variables) < 2e-6);
      CHECK(found.losses.back() == doctest::Approx(expected.losses.back()).epsilon(2e-6));
      CHECK(found.variables == again.variables);
    }
  }
  const Result expected = on_workers(kLayers, 4, 1, ", mesh: {data: 2, model: 2}", {});
  const Result found = on_workers(kLayers, 4, 1, std::string(", mesh: {data: 2, model: 2}") + kWeights, {});
  CHECK(difference(expected.variables, found.variables) < 2e-6);
}

TEST_CASE("each of several memories keeps its part of weights, gradients and state") {
  const auto bytes_on = [](int workers, const char* options) {
    std::size_t bytes = 0;
    REQUIRE(run_workers(workers, kDense,
                        {replicas_on_cpus(1, options), "model.layers[2].dense.units=4000",
                         "model.layers[3].dense.units=100", "gradients.accumulate_steps=2"},
                        [&](int worker, Training& training) {
                          if (worker == 0) bytes = training.strategy->memory().variables;
                        }) == "no error");
    return static_cast<double>(bytes);
  };
  // Weights, gradients, two slots and the accumulated gradients.
  const double state = 5 * (67 * 4000 + 4000 * 100 + 4000) * sizeof(float);
  for (const int workers : {2, 3, 4}) {
    for (const char* options : {kGradients, kWeights}) {
      const double whole = bytes_on(workers, ""), own = bytes_on(workers, options);
      CHECK(whole - own == doctest::Approx(state * (workers - 1) / workers).epsilon(0.02));
    }
  }
}

TEST_CASE("weights that are gathered layer by layer share memory") {
  const auto bytes_on = [](const char* options) {
    std::size_t bytes = 0;
    std::string layers;
    for (int i = 0; i < 12; ++i) layers += fmt::format("{}{{dense: {{units: 300, activation: relu}}}}", i ? ", " : "");
    REQUIRE(run_workers(2, kDense,
                        {replicas_on_cpus(1, options), fmt::format("model.layers=[{}]", layers),
                         "optimizer={type: sgd, learning_rate: 0.1}"},
                        [&](int worker, Training& training) {
                          const MemoryForecast memory = training.strategy->memory();
                          if (worker == 0) bytes = memory.variables + memory.activations;
                        }) == "no error");
    return static_cast<double>(bytes);
  };
  const double of_layer = 300 * 300 * sizeof(float), weights = 11 * of_layer;
  CHECK(bytes_on("") > 2 * weights);                      // and gradients
  CHECK(bytes_on(kGradients) < weights + 1.5 * weights);  // half of both, and whole weights within a step
  CHECK(bytes_on(kWeights) < weights + 6 * of_layer);     // half of both
}

TEST_CASE("a checkpoint of divided weights is resumed by any other run") {
  const std::string mesh = ", mesh: {data: 2, model: 2}";
  const std::vector<RunToResume> runs{
      {2, kWeights}, {1, ""}, {3, kGradients}, {2, ", optimizer_state: sharded"}, {4, mesh}, {4, mesh + kWeights}};
  check_resumes(kDense, runs, "gradients.accumulate_steps=2", 3e-4);
}

}  // namespace
}  // namespace mirrortrain
