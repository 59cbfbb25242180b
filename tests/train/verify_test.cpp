#include <doctest/doctest.h>

#include "train/training.h"
#include "train/verify_replicas.h"

namespace mirrortrain {
namespace {

TEST_CASE("replicas agree with one replica, uneven parts and replicas without examples included") {
  const Training training(kMlp);
  const Verification verification = verify_replicas(training.checked, {1, 2, 3, 16}, 6);
  REQUIRE(verification.runs.size() == 3);
  CHECK(verification.losses.size() == 6);
  for (const VerifiedRun& run : verification.runs) CHECK(run.steps.size() == 6);
  CHECK(verification.largest() < 1e-5);
  CHECK(differences_explained(training.checked).empty());
}

TEST_CASE("a table with sparse gradients is compared as other variables are") {
  const Training training(R"(
data:
  global_batch_size: 8
  train: {format: synthetic, examples: 16, inputs: {words: {shape: [4], below: 3000}}, label_shape: [1]}
model:
  inputs: {words: {shape: [4]}}
  layers: [embedding: {input_dim: 3000, output_dim: 8}, flatten, dense: {units: 1}]
loss: mean_squared_error
optimizer: adam
training: {epochs: 4}
)");
  CHECK(verify_replicas(training.checked, {2, 3}, 6).largest() < 1e-5);
}

TEST_CASE("a policy that makes replicas count is found and explained") {
  const Training training(kMlp, {R"(variables=[{match: "*/kernel", aggregation: sum}])"});
  CHECK(verify_replicas(training.checked, {2}, 3).largest() > 0.01);
  const auto reasons = differences_explained(training.checked);
  REQUIRE(reasons.size() == 2);
  CHECK(reasons[0].find("expected: dense/kernel: on_write x sum") == 0);
}

TEST_CASE("state with a value for each of the configuration's replicas is no part of the model") {
  const Training training(kMlp, {"state=[{name: n, assign_add: [1, 2]}]"});
  CHECK(verify_replicas(training.checked, {4}, 2).largest() < 1e-5);
  const Run run = build_run(training.checked, {.strategy = training.checked.values().strategy});
  CHECK(run.strategy->state().variables().empty());
}

TEST_CASE("batch normalization is the cause unless it is frozen") {
  for (const char* trainable : {"true", "false"}) {
    const Training training(
        kMlp, {std::string("model.layers=[{dense: {units: 7}}, {batch_normalization: {trainable: ") + trainable +
               "}}, {dense: {units: 3}}]"});
    const bool within = verify_replicas(training.checked, {2}, 3).largest() < 1e-5;
    CHECK(within == differences_explained(training.checked).empty());
    CHECK(within == (trainable == std::string("false")));
  }
}

TEST_CASE("with the statistics of the global batch every number of replicas is one") {
  const Training training(kMlp, {"model.layers=[{dense: {units: 7, use_bias: false}}, {batch_normalization: "
                                 "{synchronized: true}}, {dense: {units: 3}}]"});
  CHECK(verify_replicas(training.checked, {2, 4, 7}, 9).largest() < 1e-5);
  CHECK(differences_explained(training.checked).empty());
}

TEST_CASE("the rounding of a lower precision is no difference of replicas, and a wrong policy still is one") {
  const std::string text = R"(
data: {global_batch_size: 32, train: {format: synthetic, examples: 320, shape: [16], classes: 4}}
model:
  input_shape: [16]
  layers:
    - dense: {units: 32}
    - layer_normalization
    - dense: {units: 32, activation: gelu}
    - batch_normalization: {synchronized: true}
    - dense: {units: 4}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: adam, learning_rate: 0.01}
strategy: {devices: [cpu:0]}
)";
  const auto verified = [&](const std::string& optimizer, const std::string& rules) {
    const Training rounded(text, {"training.precision=mixed_bfloat16", optimizer, rules});
    const Training exact(text, {optimizer, rules});
    const std::vector<MeshToVerify> meshes{{{3, 1}, &rounded.checked}, {{5, 1}, &rounded.checked}};
    return verify_meshes(rounded.checked, meshes, 6, this_hardware(), &exact.checked);
  };
  const Verification right = verified("optimizer={type: adam, learning_rate: 0.01}", "variables=[]");
  CHECK(right.largest() < 0.02);
  CHECK(right.rounding > 1e-3);
  const std::string sum = R"(variables=[{match: "*/kernel", aggregation: sum}])";
  CHECK(verified("optimizer={type: sgd, learning_rate: 0.1}", sum).largest() > 0.02);
}

TEST_CASE("an element whose gradient is rounding alone is not compared, and the others of its variable are") {
  // Units that are never cut by their relu: what a normalization cancels of their biases.
  const std::string text = R"(
data: {global_batch_size: 32, train: {format: synthetic, examples: 320, shape: [16], classes: 4}}
model:
  input_shape: [16]
  layers:
    - dense: {units: 32, activation: relu}
    - batch_normalization: {synchronized: true}
    - dense: {units: 4}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: adam, learning_rate: 0.01}
strategy: {devices: [cpu:0]}
)";
  const Training training(text);
  const Verification verified = verify_replicas(training.checked, {2, 4}, 6);
  CHECK(verified.elements_left_out > 0);
  CHECK(verified.left_out.empty());
  CHECK(verified.largest() < 1e-3);
}

TEST_CASE("a variable whose gradient is rounding alone is not compared, and moves no statistics") {
  const auto verified = [](const std::string& layers, const std::string& more) {
    const std::string last = ", {flatten: {}}, {dense: {units: 3}}]";
    const Training training(kMlp, {"model.layers=[" + layers + last, more});
    return verify_replicas(training.checked, {2, 4}, 5);
  };
  const std::string normalize = "{batch_normalization: {synchronized: true}}";
  const std::string sgd = "optimizer={type: sgd, learning_rate: 0.1}",
                    adam = "optimizer={type: adam, learning_rate: 0.05}";
  using Names = std::vector<std::string>;
  for (const std::string& optimizer : {sgd, adam}) {
    CAPTURE(optimizer);
    const Verification biases = verified("{dense: {units: 6}}, " + normalize +
                                             ", {reshape: {target_shape: [3, 2]}}, "
                                             "{multi_head_attention: {num_heads: 2, key_dim: 2}}",
                                         optimizer);
    CHECK(biases.left_out == Names{"dense/bias", "multi_head_attention/key/bias"});
    CHECK(biases.largest() < 1e-4);
    const Verification pooled = verified(
        "{reshape: {target_shape: [6, 1, 1]}}, {conv2d: {filters: 3, kernel_size: [2, 1]}}, "
        "{average_pooling2d: {pool_size: [3, 1]}}, " +
            normalize,
        optimizer);
    CHECK(pooled.left_out == Names{"conv2d/bias"});
    CHECK(pooled.largest() < 1e-4);
    const Verification offset =
        verified("{dense: {units: 6, use_bias: false}}, " + normalize + ", " + normalize, optimizer);
    CHECK(offset.left_out == Names{"batch_normalization/beta"});
    CHECK(offset.largest() < 1e-4);
  }
  CHECK(verified(
            "{dense: {units: 6, use_bias: false}}, " + normalize + ", {activation: {activation: relu}}, " + normalize,
            sgd)
            .left_out.empty());
  CHECK(verified("{dense: {units: 4, activation: relu}}, " + normalize, sgd).left_out.empty());
}

TEST_CASE("a bias that is 0 but for rounding is no difference") {
  // Of scores that are equal at all positions, whose softmax has no gradient.
  std::vector<std::string> more = {
      "data.train.shape=[4, 1]", "model.input_shape=[4, 1]",
      "model.layers=[{dense: {units: 1, activation: softmax}}, {group_query_attention: {num_key_value_heads: 2, "
      "num_query_heads: 2, head_dim: 2}}, {global_max_pooling1d: {}}, {dense: {units: 3}}]"};
  const Training one(kMlp, more);
  more.emplace_back("strategy={type: mirrored, devices: [cpu:0], mesh: {data: 1, model: 2}}");
  const Training two(kMlp, more);
  CHECK(verify_meshes(one.checked, {{{1, 2}, &two.checked}}, 4).largest() < 1e-4);
}

TEST_CASE("recurrent layers train alike on any number of replicas") {
  const Training training(kMlp, {"model.layers=[{reshape: {target_shape: [3, 2]}}, {lstm: {units: 5, return_sequences: "
                                 "true}}, {gru: {units: 4}}, {dense: {units: 3}}]"});
  CHECK(verify_replicas(training.checked, {2, 4, 7}, 5).largest() < 1e-5);
  CHECK(differences_explained(training.checked).empty());
}

TEST_CASE("the variable that differs most is named") {
  const Training training(kMlp, {"variables=[{match: dense/kernel, aggregation: only_first_replica}]"});
  CHECK(verify_replicas(training.checked, {2}, 3).most_different.first == "dense/kernel");
}

TEST_CASE("dropout masks do not depend on the number of replicas") {
  const Training training(kMlp, {"model.layers=[{dense: {units: 7}}, {dropout: {rate: 0.5}}, {dense: {units: 3}}]"});
  CHECK(verify_replicas(training.checked, {2, 4}, 5).largest() < 1e-5);
}

}  // namespace
}  // namespace mirrortrain
