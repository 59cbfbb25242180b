// Layers whose replicas wait for each other inside their programs: batch normalization by the global batch.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "graph/ops/collective.h"
#include "train/training.h"
#include "train/verify_replicas.h"

namespace mirrortrain {
namespace {

/// 23 examples in batches of 7: of four replicas two have one example of the last batch and two have none.
constexpr const char* kNetwork = R"(
seed: 3
data:
  global_batch_size: 7
  shuffle: false
  train: {format: synthetic, examples: 23, shape: [5, 5, 2], classes: 3, seed: 5}
model:
  input_shape: [5, 5, 2]
  layers:
    - conv2d: {filters: 4, kernel_size: 3, padding: same, use_bias: false}
    - batch_normalization: {momentum: 0.5, synchronized: true}
    - activation: {activation: relu, name: stem}
    - conv2d: {filters: 5, kernel_size: 3, use_bias: false}
    - batch_normalization: {momentum: 0.8, synchronized: true, scale: false}
    - dropout: {rate: 0.2}
    - flatten
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: sgd, learning_rate: 0.1, momentum: 0.9}
)";

std::string on_devices(const std::string& devices, int replicas, const std::string& more = "") {
  return fmt::format("strategy={{type: mirrored, devices: {}, replicas: {}, threads_per_replica: 1{}}}", devices,
                     replicas, more);
}

TEST_CASE("replicas with uneven parts, or none, train as one with the whole batch") {
  for (const char* gradients : {"{}", "{accumulate_steps: 2}", "{clip_norm: 0.1}"}) {
    CAPTURE(gradients);
    const Training training(kNetwork, {fmt::format("gradients={}", gradients), on_devices("[cpu:0, cpu:1]", 2)});
    CHECK(verify_replicas(training.checked, {2, 3, 4, 8}, 8).largest() < 2e-5);
  }
}

TEST_CASE("replicas without examples have the statistics of the global batch too") {
  for (const char* policy : {"{synchronization: on_read, aggregation: mean}",
                             "{synchronization: on_write, aggregation: "
                             "mean}"}) {
    CAPTURE(policy);
    std::string rule = policy;
    rule.insert(1, "match: \"*/moving_*\", ");
    Training training(kNetwork, {"variables=[" + rule + "]", on_devices("[cpu:0, cpu:1]", 4)});
    training.steps(4);
    const auto first = training.variables(0);
    for (int replica = 1; replica < 4; ++replica) CHECK(training.variables(replica) == first);
  }
}

TEST_CASE("the bits depend on the replicas, not on the lanes that run them") {
  for (const char* operation : {"auto", "ring", "hierarchical_copy", "reduction_to_one_device"}) {
    for (const char* bytes : {"0", "100"}) {
      CAPTURE(operation);
      CAPTURE(bytes);
      const std::string more =
          fmt::format(", cross_device_ops: {}, communication: {{bytes_per_pack: {}}}", operation, bytes);
      Training one(kNetwork, {on_devices("[cpu:0]", 4, more)}), two(kNetwork, {on_devices("[cpu:0, cpu:1]", 4, more)}),
          four(kNetwork, {on_devices("[cpu:0, cpu:1, cpu:2, cpu:3]", 4, more)});
      const auto losses = one.steps(8);
      CHECK(two.steps(8) == losses);
      CHECK(four.steps(8) == losses);
      CHECK(two.variables() == one.variables());
      CHECK(four.variables() == one.variables());
    }
  }
}

TEST_CASE("a frozen synchronized layer normalizes by its moving statistics, and waits for nobody") {
  const Training training(kMlp, {"model.layers=[{dense: {units: 7}}, {batch_normalization: {synchronized: true, "
                                 "trainable: false}}, {dense: {units: 3}}]"});
  CHECK(ops::collectives_of(training.checked.model->training.graph).empty());
  CHECK(verify_replicas(training.checked, {2}, 3).largest() < 1e-5);
}

}  // namespace
}  // namespace mirrortrain
