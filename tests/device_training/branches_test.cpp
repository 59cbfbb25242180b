// Networks with branches, where what a GPU does in fewer launches must leave alone what somebody else reads.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <tuple>

#include "network.h"
#include "train/training.h"

namespace mirrortrain {
namespace {

/// A network of these layers, which classifies images of [8, 8, 4].
std::string network(const std::string& layers, const std::string& metrics = "accuracy") {
  return fmt::format(R"(
seed: 4
training: {{tf32: false}}
data:
  global_batch_size: 6
  train: {{format: synthetic, examples: 20, shape: [8, 8, 4], classes: 3, seed: 5}}
  preprocessing:
    - one_hot: {{depth: 3}}
model:
  input_shape: [8, 8, 4]
  layers:
{}
    - flatten
    - dense: {{units: 3}}
loss: {{type: categorical_crossentropy, from_logits: true, label_smoothing: 0.1}}
metrics: [{}]
optimizer: {{type: sgd, learning_rate: 0.005, momentum: 0.9}}
)",
                     layers, metrics);
}

struct Branched {
  const char *name, *layers;
};

constexpr Branched kBranched[] = {
    {"two convolutions whose sum is pooled", R"(
    - conv2d: {filters: 3, kernel_size: 3, name: a, inputs: [input]}
    - conv2d: {filters: 3, kernel_size: 3, name: b, inputs: [input]}
    - add: {inputs: [a, b]}
    - max_pooling2d: {pool_size: 2})"},
    {"a convolution that is pooled twice", R"(
    - conv2d: {filters: 3, kernel_size: 3, activation: relu, name: a}
    - max_pooling2d: {pool_size: 2, name: b}
    - max_pooling2d: {pool_size: 3, strides: 2, padding: same, name: c, inputs: [a]}
    - add: {inputs: [b, c]})"},
    {"a convolution that is pooled, and read otherwise", R"(
    - conv2d: {filters: 3, kernel_size: 3, padding: same, activation: relu, name: a}
    - max_pooling2d: {pool_size: 3, strides: 1, padding: same, name: b}
    - add: {inputs: [a, b]})"},
    {"overlapping windows and groups", R"(
    - conv2d: {filters: 8, kernel_size: 3, groups: 4, padding: same, kernel_regularizer: {l2: 0.01}}
    - max_pooling2d: {pool_size: 3, strides: 2, padding: same}
    - conv2d: {filters: 8, kernel_size: 3, groups: 8, padding: same, activation: tanh, kernel_regularizer: {l1: 0.01}}
    - max_pooling2d: {pool_size: 2})"},
    {"several filters for each channel", R"(
    - depthwise_conv2d: {kernel_size: 3, depth_multiplier: 2, padding: same, activation: relu}
    - depthwise_conv2d: {kernel_size: 3, depth_multiplier: 3, strides: 2, use_bias: false})"},
    {"a residual of what is normalized", R"(
    - conv2d: {filters: 3, kernel_size: 3, name: a}
    - batch_normalization: {momentum: 0.8, name: b}
    - add: {inputs: [a, b]}
    - activation: {activation: relu})"},
    {"a normalization added to itself", R"(
    - conv2d: {filters: 3, kernel_size: 3, use_bias: false}
    - batch_normalization: {momentum: 0.8, name: b}
    - add: {inputs: [b, b]}
    - activation: {activation: relu})"},
    {"a normalization that two sums read", R"(
    - conv2d: {filters: 3, kernel_size: 3, name: a}
    - batch_normalization: {momentum: 0.8, name: b}
    - add: {inputs: [b, a], name: c}
    - activation: {activation: relu, name: d}
    - add: {inputs: [d, b], name: e}
    - activation: {activation: relu, name: f}
    - add: {inputs: [f, d, a]}
    - activation: {activation: relu})"},
    {"a sum that is read beside relu", R"(
    - conv2d: {filters: 3, kernel_size: 3, name: a}
    - batch_normalization: {momentum: 0.8, name: b}
    - add: {inputs: [b, a], name: c}
    - activation: {activation: relu, name: d}
    - add: {inputs: [c, d]})"},
    {"normalizations on both sides, one frozen", R"(
    - conv2d: {filters: 3, kernel_size: 3, name: a}
    - batch_normalization: {momentum: 0.8, name: b}
    - batch_normalization: {trainable: false, name: c, inputs: [a]}
    - add: {inputs: [c, b]}
    - activation: {activation: relu, name: d}
    - conv2d: {filters: 3, kernel_size: 3, padding: same, trainable: false, name: e}
    - batch_normalization: {momentum: 0.8, center: false, scale: false, name: f}
    - add: {inputs: [f, d]}
    - activation: {activation: relu}
    - max_pooling2d: {pool_size: 2})"},
    {"relu read by many", R"(
    - conv2d: {filters: 4, kernel_size: 3, padding: same, name: a}
    - activation: {activation: relu, name: r}
    - conv2d: {filters: 4, kernel_size: 1, name: b}
    - conv2d: {filters: 4, kernel_size: 3, padding: same, name: c, inputs: [r]}
    - average_pooling2d: {pool_size: 3, strides: 1, padding: same, name: d, inputs: [r]}
    - add: {inputs: [r, b, c, d]}
    - activation: {activation: relu}
    - max_pooling2d: {pool_size: 2})"},
};

struct Variation {
  const char *metrics, *gradients, *precision;
  int replicas;
};

constexpr Variation kVariations[] = {
    {"accuracy", "{}", "float32", 1},
    {"accuracy", "{aggregation_method: accumulate_n}", "float32", 4},
    {"mean_squared_error, accuracy", "{clip_norm: 0.5, accumulate_steps: 2}", "float32", 2},
    {"accuracy", "{}", "mixed_bfloat16", 2},
    {"mean_squared_error, accuracy", "{}", "mixed_bfloat16", 1},
};

TEST_CASE("branches train as on the CPU") {
  for (const auto& [name, layers] : kBranched) {
    for (const auto& [metrics, gradients, precision, replicas] : kVariations) {
      INFO(fmt::format("{}: {}, {}, {}", name, metrics, gradients, precision));
      const bool rounds = std::string(precision) != "float32";
      const double tolerance = rounds ? 0.03 : testing::tolerance().losses;
      const Overrides overrides = {fmt::format("gradients={}", gradients),
                                   fmt::format("training={{tf32: false, precision: {}}}", precision)};
      Overrides of_cpus = overrides, of_gpu = overrides;
      of_cpus.push_back(strategy_of("cpu", replicas));
      of_gpu.push_back(strategy_of("cuda", replicas));
      Training on_cpus(network(layers, metrics), of_cpus);
      Training on_gpu(network(layers, metrics), of_gpu, testing::gpus_under_test(1));
      const auto expected = on_cpus.steps(6), found = on_gpu.steps(6);
      for (std::size_t i = 0; i < expected.size(); ++i)
        CHECK(found[i] == doctest::Approx(expected[i]).epsilon(tolerance));
      CHECK(difference(on_cpus.variables(), on_gpu.variables()) < (rounds ? 0.05 : testing::tolerance().variables));
      const StepSums here = evaluate_all(*on_cpus.strategy, on_cpus.examples(), 6);
      const StepSums there = evaluate_all(*on_gpu.strategy, on_gpu.examples(), 6);
      CHECK(there.loss == doctest::Approx(here.loss).epsilon(tolerance));
      for (std::size_t i = 0; i < here.metrics.size() && !rounds; ++i) CHECK(there.metrics[i] == near(here.metrics[i]));
    }
  }
}

TEST_CASE("branches end with the same bits captured or not, with replicas that have no examples") {
  for (const std::size_t i : {0, 3, 8}) {
    const char* const layers = kBranched[i].layers;
    INFO(std::string(kBranched[i].name));
    const auto trained = [&](const char* graph, std::uint64_t seed) {
      Training training(network(layers),
                        {fmt::format("training={{tf32: false, cuda_graph: {}}}", graph), "data.drop_remainder=true",
                         "gradients={clip_value: 0.1}", strategy_of("cuda", 8)},
                        testing::gpus_under_test(1, seed));
      const auto losses = training.steps_in_flight(36);
      return std::tuple(losses, training.variables(), evaluate_all(*training.strategy, training.examples(), 6).loss);
    };
    CHECK(trained("auto", 1) == trained("never", 2));
  }
}

TEST_CASE("branches train on several GPUs as on one, whatever order their gradients are complete in") {
  for (const auto& [name, layers] : kBranched) {
    for (const char* pack : {"100", "600"}) {
      INFO(fmt::format("{}: {}", name, pack));
      Training one(network(layers), {strategy_of("cuda", 3)}, testing::gpus_under_test(1));
      Training two(network(layers),
                   {fmt::format("strategy={{type: mirrored, devices: [cuda:0, cuda:1, cuda:0], cross_device_ops: ring, "
                                "communication: {{bytes_per_pack: {}}}}}",
                                pack)},
                   testing::gpus_under_test(2));
      const auto expected = one.steps(6), found = two.steps_in_flight(6);
      for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == near(expected[i]));
      CHECK(difference(one.variables(), two.variables()) < testing::tolerance().variables);
    }
  }
}

}  // namespace
}  // namespace mirrortrain
