#include <doctest/doctest.h>

#include "error_text.h"
#include "model/from_text.h"

using namespace mirrortrain;

namespace {

/// The errors of a dense layer with `units` outputs, this loss, and data with these labels.
std::string errors_of(const std::string& loss, int units, const LabelInfo& labels) {
  return build_from(
             "model: {input_shape: [4], layers: [dense: {units: " + std::to_string(units) + "}]}\nloss: " + loss + "\n",
             labels)
      .errors;
}

LabelInfo classes(std::int64_t count) { return {{}, true, count}; }
LabelInfo numbers(Shape shape) { return {std::move(shape), false, std::nullopt}; }

}  // namespace

TEST_CASE("labels that fit the output are accepted") {
  CHECK(errors_of("sparse_categorical_crossentropy", 10, classes(10)) == "");
  CHECK(errors_of("sparse_categorical_crossentropy", 10, {{1}, true, 7}) == "");
  CHECK(errors_of("categorical_crossentropy", 10, numbers({10})) == "");
  CHECK(errors_of("binary_crossentropy", 1, classes(2)) == "");
  CHECK(errors_of("binary_crossentropy", 3, numbers({3})) == "");
  CHECK(errors_of("mean_squared_error", 3, numbers({3})) == "");
}

TEST_CASE("a number per example fits an output of shape [1]") {
  CHECK(errors_of("mean_squared_error", 1, numbers({})) == "");
  CHECK(errors_of("mean_squared_error", 1, numbers({1})) == "");
  CHECK(errors_of("mean_squared_error", 2, numbers({})) != "");
}

TEST_CASE("labels of another shape are told at the loss with both shapes and the remedy") {
  CHECK(errors_of("mean_squared_error", 3, numbers({2})) ==
        "a.yaml:2:1: loss: expected labels of shape [3] for the output shape [3], found labels of shape [2]\n1 error");
  CHECK(contains(errors_of("sparse_categorical_crossentropy", 10, numbers({10})), "take categorical_crossentropy"));
  CHECK(contains(errors_of("categorical_crossentropy", 10, classes(10)),
                 "sparse_categorical_crossentropy, or one_hot: {depth: 10}"));
  CHECK(errors_of("categorical_crossentropy", 10, numbers({5})) != "");
}

TEST_CASE("labels beyond the classes are told") {
  CHECK(contains(errors_of("sparse_categorical_crossentropy", 5, classes(10)),
                 "a.yaml:2:1: loss: expected labels from 0 to 4 for the output shape [5], found labels from 0 to 9"));
  CHECK(contains(errors_of("binary_crossentropy", 1, classes(3)), "expected labels from 0 to 1"));
  CHECK(contains(errors_of("sparse_categorical_crossentropy", 5, numbers({})), "not whole"));
}

TEST_CASE("a class for each position is a label for each position") {
  const Built built =
      build_from("model: {input_shape: [6, 4], layers: [dense: {units: 5}]}\nloss: sparse_categorical_crossentropy\n",
                 LabelInfo{{6}, true, 5});
  CHECK(built.errors == "");
  CHECK(built.model.training.graph.spec(built.model.training.labels) == ValueSpec{DType::kInt32, {6}, true});
}

TEST_CASE("losses limit the labels as the model says") {
  const auto largest = [](const std::string& loss) {
    return build_from("model: {input_shape: [4], layers: [dense: {units: 3}]}\nloss: " + loss + "\n")
        .model.largest_label;
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
  const ops::Loss op = loss_op(built.description.loss.value);
  CHECK(op.kind == ops::LossKind::kCategoricalCrossentropy);
  CHECK(op.from_logits);
  CHECK(op.label_smoothing == 0.1f);
  CHECK_FALSE(loss_op(losses::SparseCategoricalCrossentropy{}).from_logits);
}
