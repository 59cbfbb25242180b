// Layers that are hardly meant, and steps that never end an epoch.
#include <doctest/doctest.h>

#include "error_text.h"
#include "train/session/said_before_training.h"

namespace mirrortrain {
namespace {

/// A model of vectors; `layers` before the last one.
std::string model_of(const std::string& layers, const std::string& more = "", const std::string& of_model = "") {
  return fmt::format(R"(
data:
  global_batch_size: 4
  train: {{format: synthetic, examples: 24, shape: [6], classes: 3, seed: 5}}
model:
  input_shape: [6]
  {}
  layers: [{}, dense: {{units: 3}}]
loss: {{type: sparse_categorical_crossentropy, from_logits: true}}
optimizer: sgd
{})",
                     of_model, layers, more);
}

TEST_CASE("a batch normalization of one vector on each replica is warned of") {
  const std::string normalized = "dense: {units: 4}, batch_normalization";
  const std::string one = said_before_training(model_of(normalized), {"data.global_batch_size=1"});
  CHECK_MESSAGE(contains(one,
                         "model.layers[1].batch_normalization: each replica has one example of a global batch of 1, "
                         "whose mean is itself, so that every output is beta in training, whatever the example; use a "
                         "larger data.global_batch_size, or layer_normalization"),
                one);
  const std::string four = "strategy: {type: mirrored, devices: [cpu:0], replicas: 4}";
  const std::string each = said_before_training(model_of(normalized, four));
  CHECK_MESSAGE(contains(each, "use a larger data.global_batch_size, fewer replicas, synchronized: true, or"), each);
  CHECK(said_before_training(model_of(normalized, four), {"data.global_batch_size=5"}) == "");  // some have two
  CHECK(said_before_training(model_of(normalized)) == "");
  CHECK(said_before_training(model_of("dense: {units: 4}, batch_normalization: {synchronized: true}", four)) == "");
  CHECK(said_before_training(model_of("reshape: {target_shape: [3, 2]}, batch_normalization, flatten", four)) ==
        "");  // three positions
}

TEST_CASE("frozen layers without trained weights, and kernels of one number, are warned of") {
  const std::string frozen =
      said_before_training(model_of("dense: {units: 4, activation: relu}", "", "freeze: [dense]"));
  CHECK_MESSAGE(contains(frozen, "model.freeze: the layers that it freezes keep the random weights"), frozen);
  const std::vector<std::string> zeros = {"model.layers[1].dense.kernel_initializer=zeros"};
  const std::string all =
      said_before_training(model_of("dense: {units: 4, activation: tanh, kernel_initializer: zeros}"), zeros);
  CHECK_MESSAGE(contains(all, "model.layers[0].dense: the kernels of all 2 layers begin with zeros"), all);
  const std::string ones =
      said_before_training(model_of("dense: {units: 4, activation: tanh, kernel_initializer: ones}"), zeros);
  CHECK_MESSAGE(contains(ones, "the units of a layer stay equal"), ones);
  CHECK(said_before_training(model_of("dense: {units: 4, activation: tanh}"), zeros) == "");  // the last may be
}

TEST_CASE("dense layers that are one layer together are warned of, narrow ones not") {
  const std::string one = said_before_training(model_of("dense: {units: 8}"));
  CHECK_MESSAGE(contains(one, "model.layers[0].dense: has no activation, and 'dense_1', which reads it, is dense too"),
                one);
  for (const char* const layers :
       {"dense: {units: 8, activation: relu}", "dense: {units: 2}", "dense: {units: 8}, dropout: {rate: 0.5}",
        "dense: {units: 8, kernel_regularizer: {l2: 0.01}}", "dense: {units: 8}, batch_normalization"}) {
    CAPTURE(layers);
    CHECK(said_before_training(model_of(layers)) == "");
  }
  CHECK(said_before_training(model_of("dense: {units: 8}"), {"model.layers[1].dense.trainable=false"}) == "");
}

TEST_CASE("steps that do not end an epoch leave validation and callbacks without effect") {
  const std::string relu = "dense: {units: 4, activation: relu}";
  const std::string all = said_before_training(
      model_of(relu, "training: {steps: 3}\ncallbacks: [early_stopping: {patience: 2, split: train}]"),
      {"data.validation={fraction: 0.25}"});
  CHECK_MESSAGE(contains(all,
                         "training.steps: 3 end before the first epoch of 5 steps does, and with it comes all that "
                         "data.validation, callbacks are for; train at least 5 steps, or leave them out"),
                all);
  CHECK(said_before_training(model_of(relu, "training: {steps: 3}")) == "");
  const std::vector<std::string> short_try = {"data.validation={fraction: 0.25}", "training.steps=3"};
  CHECK(said_before_training(model_of(relu), short_try) == "");
  CHECK(said_before_training(model_of(relu, "training: {steps: 5}"), {"data.validation={fraction: 0.25}"}) == "");
}

}  // namespace
}  // namespace mirrortrain
