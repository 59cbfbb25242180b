#include <doctest/doctest.h>

#include "model/from_text.h"

using namespace mirrortrain;

TEST_CASE("a class for each position is a label for each position") {
  const Built built =
      build_from("model: {input_shape: [6, 4], layers: [dense: {units: 5}]}\nloss: sparse_categorical_crossentropy\n");
  CHECK(built.errors == "");
  CHECK(built.model.training.graph.spec(built.model.training.outputs[0].labels) == ValueSpec{DType::kInt32, {6}, true});
}

TEST_CASE("losses limit the labels as the model says") {
  const auto largest = [](const std::string& loss) {
    return build_from("model: {input_shape: [4], layers: [dense: {units: 3}]}\nloss: " + loss + "\n")
        .model.outputs[0]
        .largest_label;
  };
  CHECK(largest("sparse_categorical_crossentropy") == 2);
  CHECK(largest("categorical_crossentropy") == 1);
  CHECK(largest("binary_crossentropy") == 1);
  CHECK(largest("mean_squared_error") == std::nullopt);
}

TEST_CASE("loss options reach the op") {
  const Built built = build_from(
      "model: {input_shape: [4], layers: [dense: {units: 3}]}\n"
      "loss: {categorical_crossentropy: {from_logits: true, label_smoothing: 0.1}}\n");
  REQUIRE(built.errors == "");
  const ops::Loss op = loss_op(built.description.loss.one->value);
  CHECK(op.kind == ops::LossKind::kCategoricalCrossentropy);
  CHECK(op.from_logits);
  CHECK(op.label_smoothing == 0.1f);
  CHECK_FALSE(loss_op(losses::SparseCategoricalCrossentropy{}).from_logits);
}
