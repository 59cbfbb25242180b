// gelu where a dense layer's matrix multiplications store their results.
#include "kernels/cuda/merge_gelu.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph/op_names.h"
#include "graph/ops/elementwise.h"

using namespace mirrortrain;
using ops::ActivationKind;
using testing::op_names;

namespace {

/// Two dense layers with an activation between them, and the gradients of the first one's weights.
struct TwoLayers {
  Graph graph;
  ValueId x, kernel, bias, second_kernel, input, y, second, dy, of_y, of_input;
  std::vector<ValueId> weights;

  TwoLayers(DType dtype, ActivationKind kind) {
    x = graph.input("x", {dtype, {5, 4}, true});
    dy = graph.input("dy", {dtype, {5, 3}, true});
    kernel = graph.variable({"kernel", {4, 16}}), bias = graph.variable({"bias", {16}});
    second_kernel = graph.variable({"second", {16, 3}});
    input = graph.apply_one(ops::Dense(), {x, kernel, bias});
    y = graph.apply_one(ops::Activation(kind), {input});
    second = graph.apply_one(ops::Dense(), {y, second_kernel, kNoValue});
    of_y = graph.apply_one(ops::DenseInputGradient(), {dy, second_kernel});
    of_input = graph.apply_one(ops::ActivationGradient(kind), {input, of_y});
    weights = graph.apply(ops::DenseWeightGradient(true), {x, of_input});
  }
  Graph merged(std::vector<ValueId> also = {}) const {
    also.insert(also.end(), {second, weights[0], weights[1]});
    return cuda::merge_gelu(graph, also);
  }
};

const std::vector<std::string> kMerged{"dense_with_gelu", "dense", "dense_input_gradient_of_gelu",
                                       "dense_weight_gradient"};
const std::vector<std::string> kApart{
    "dense", "activation", "dense", "dense_input_gradient", "activation_gradient", "dense_weight_gradient"};

}  // namespace

TEST_CASE("gelu's approximation and its derivative go into the multiplications before them") {
  const TwoLayers layers(DType::kBfloat16, ActivationKind::kGeluTanh);
  const Graph merged = layers.merged();
  CHECK(op_names(merged) == kMerged);
  CHECK(merged.node(0).inputs == std::vector{layers.x, layers.kernel, layers.bias});
  CHECK(merged.node(0).outputs == std::vector{layers.y, layers.input});
  CHECK(merged.node(2).inputs == std::vector{layers.dy, layers.second_kernel, layers.input});
  CHECK(merged.node(2).outputs == std::vector{layers.of_input});
  std::vector<ValueSpec> specs;
  for (const ValueId value : merged.node(0).inputs) specs.push_back(merged.spec(value));
  CHECK(merged.node(0).op->infer(specs) == std::vector(2, merged.spec(layers.y)));
}

TEST_CASE("without a gradient gelu's input is not kept") {
  Graph forward;
  const ValueId x = forward.input("x", {DType::kBfloat16, {4}, true}), kernel = forward.variable({"kernel", {4, 16}});
  const ValueId input = forward.apply_one(ops::Dense(), {x, kernel, kNoValue});
  const ValueId y = forward.apply_one(ops::Activation(ActivationKind::kGeluTanh), {input});
  CHECK(cuda::merge_gelu(forward, {y}).node(0).outputs == std::vector{y});
  CHECK(cuda::merge_gelu(forward, {y, input}).node(0).outputs == std::vector{y, input});
}

TEST_CASE("the exact gelu, one in float32, and others keep their own passes") {
  CHECK(op_names(TwoLayers(DType::kBfloat16, ActivationKind::kGelu).merged()) == kApart);
  CHECK(op_names(TwoLayers(DType::kFloat32, ActivationKind::kGeluTanh).merged()) == kApart);
  CHECK(op_names(TwoLayers(DType::kBfloat16, ActivationKind::kSilu).merged()) == kApart);
}

TEST_CASE("a gradient that is read elsewhere too is still computed") {
  const TwoLayers layers(DType::kBfloat16, ActivationKind::kGeluTanh);
  CHECK(op_names(layers.merged({layers.of_y})) ==
        std::vector<std::string>{"dense_with_gelu", "dense", "dense_input_gradient", "activation_gradient",
                                 "dense_weight_gradient"});
}
