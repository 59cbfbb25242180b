// Convolutions and the batch normalizations behind them as one op each.
#include "kernels/cuda/merge_statistics.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph/op_names.h"
#include "graph/ops/elementwise.h"
#include "kernels/cuda/merge.h"

using namespace mirrortrain;
using testing::op_names;

namespace {

/// A convolution, its normalization, and the gradient of gamma and beta, which reads the convolution's output.
struct Normalized {
  Graph graph;
  ops::Conv2dAttributes attributes{.padding = ops::Padding::kSame};
  ValueId x, kernel, bias = kNoValue, convolved, mean, variance;
  std::vector<ValueId> norm, gradients;

  explicit Normalized(DType dtype = DType::kBfloat16, bool with_bias = false, std::int64_t groups = 1) {
    attributes.groups = groups;
    x = graph.input("x", {dtype, {4, 4, 8}, true});
    kernel = graph.variable({"kernel", {3, 3, 8 / groups, 8}});
    if (with_bias) bias = graph.variable({"bias", {8}});
    convolved = graph.apply_one(ops::Conv2d(attributes), {x, kernel, bias});
  }

  void normalize() {
    mean = graph.variable({"mean", {8}}), variance = graph.variable({"variance", {8}});
    norm = graph.apply(ops::BatchNorm(0.9f, 1e-3f), {convolved, kNoValue, kNoValue, mean, variance});
  }
  void add_gradients() {
    gradients = graph.apply(ops::BatchNormGradient({}), {convolved, norm[0], kNoValue, norm[1], norm[2]});
  }
  Graph merged(std::vector<ValueId> also = {}) const {
    also.insert(also.end(), {norm[0], norm[3], norm[4]});
    if (!gradients.empty()) also.push_back(gradients[0]);
    return cuda::merge_statistics(graph, also);
  }
};

const std::vector<std::string> kMerged{"conv2d_batch_norm", "batch_norm_gradient"},
    kApart{"conv2d", "batch_norm", "batch_norm_gradient"};

std::vector<ValueSpec> specs_of(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<ValueSpec> specs;
  for (const ValueId value : values) {
    specs.push_back(value == kNoValue ? ValueSpec{DType::kFloat32, Shape{0}, false} : graph.spec(value));
  }
  return specs;
}

}  // namespace

TEST_CASE("a convolution goes into the normalization behind it, which keeps its output for the gradient") {
  for (const bool with_bias : {false, true}) {
    Normalized n(DType::kBfloat16, with_bias);
    n.normalize();
    n.add_gradients();
    const Graph merged = n.merged();
    REQUIRE(op_names(merged) == kMerged);
    const Node& both = merged.node(0);
    CHECK(both.inputs == std::vector{n.x, n.kernel, n.bias, kNoValue, kNoValue, n.mean, n.variance});
    CHECK(both.outputs == std::vector{n.norm[0], n.norm[1], n.norm[2], n.norm[3], n.norm[4], n.convolved});
    CHECK(both.op->infer(specs_of(merged, both.inputs)) == specs_of(merged, both.outputs));
    CHECK_FALSE(both.op->may_overwrite(0));
  }
}

TEST_CASE("with a residual and relu, all of it is one op where the residual is there") {
  Normalized n;
  const ValueId shortcut = n.graph.input("shortcut", {DType::kBfloat16, {4, 4, 8}, true});
  n.normalize();
  const ValueId other = n.graph.apply_one(ops::Activation(ops::ActivationKind::kTanh), {shortcut});
  const ValueId sum = n.graph.apply_one(ops::AddN(), {n.norm[0], other});
  const ValueId relu = n.graph.apply_one(ops::Activation(ops::ActivationKind::kRelu), {sum});
  n.gradients = n.graph.apply(ops::BatchNormGradient({}), {n.convolved, relu, kNoValue, n.norm[1], n.norm[2]});
  const std::vector<ValueId> outputs{relu, n.norm[3], n.norm[4], n.gradients[0]};
  const Graph merged = cuda::merge_statistics(cuda::merge(n.graph, outputs), outputs);
  const std::vector<std::string> names = op_names(merged);
  REQUIRE(names.size() >= 3);
  CHECK(std::vector(names.begin(), names.begin() + 2) == std::vector<std::string>{"activation", "conv2d_batch_norm"});
  const Node& both = merged.node(1);
  CHECK(both.inputs.back() == other);
  CHECK(both.outputs.front() == relu);
  CHECK(both.outputs.back() == n.convolved);
  CHECK(dynamic_cast<const cuda::Conv2dBatchNorm&>(*both.op).of_residual);
  CHECK(dynamic_cast<const cuda::Conv2dBatchNorm&>(*both.op).norm.relu.on);
  CHECK(both.op->may_overwrite(7));
  CHECK(both.op->infer(specs_of(merged, both.inputs)) == specs_of(merged, both.outputs));
}

TEST_CASE("float32, groups, and functions in a convolution stay apart from a normalization") {
  Normalized in_float(DType::kFloat32), grouped(DType::kBfloat16, false, 4);
  for (Normalized* n : {&in_float, &grouped}) {
    n->normalize();
    n->add_gradients();
    CHECK(op_names(n->merged()) == kApart);
  }
  Normalized with_tanh;
  with_tanh.convolved = with_tanh.graph.apply_one(ops::Conv2d(with_tanh.attributes, ops::ActivationKind::kTanh),
                                                  {with_tanh.x, with_tanh.kernel, kNoValue});
  with_tanh.normalize();
  with_tanh.add_gradients();
  CHECK(op_names(with_tanh.merged()).size() == 4);
}

TEST_CASE("a convolution stays where it is if somebody reads its output before the normalization, or outside") {
  Normalized read_before;
  const ValueId tanh =
      read_before.graph.apply_one(ops::Activation(ops::ActivationKind::kTanh), {read_before.convolved});
  read_before.normalize();
  read_before.add_gradients();
  CHECK(op_names(read_before.merged({tanh})).size() == 4);
  CHECK(op_names(read_before.merged()).size() == 3);  // tanh, which nobody needs, is left

  Normalized read_outside;
  read_outside.normalize();
  read_outside.add_gradients();
  CHECK(op_names(read_outside.merged({read_outside.convolved})) == kApart);

  Normalized without_gradient;
  without_gradient.normalize();
  CHECK(op_names(without_gradient.merged()) == std::vector<std::string>{"conv2d", "batch_norm"});
}

TEST_CASE("a convolution that is its normalization's residual stays where it is") {
  Normalized n;
  n.normalize();
  const ValueId sum = n.graph.apply_one(ops::AddN(), {n.norm[0], n.convolved});
  const ValueId relu = n.graph.apply_one(ops::Activation(ops::ActivationKind::kRelu), {sum});
  n.gradients = n.graph.apply(ops::BatchNormGradient({}), {n.convolved, relu, kNoValue, n.norm[1], n.norm[2]});
  const std::vector<ValueId> outputs{relu, n.norm[3], n.gradients[0]};
  CHECK(op_names(cuda::merge_statistics(cuda::merge(n.graph, outputs), outputs)) ==
        std::vector<std::string>{"conv2d", "batch_norm_of_residual", "batch_norm_gradient"});
}
