#include "graph/fuse.h"

#include <doctest/doctest.h>

#include <limits>

#include "graph/op_names.h"
#include "graph/ops/batch_norm.h"
#include "graph/ops/conv.h"
#include "graph/ops/dense.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/loss.h"
#include "graph/ops/pool2d.h"
#include "graph/ops/synchronized_batch_norm.h"

namespace mirrortrain {
namespace {

using ops::ActivationKind;
using testing::op_names;

template <class OpType>
const OpType& op_of(const Graph& graph, std::size_t node) {
  return dynamic_cast<const OpType&>(*graph.nodes()[node].op);
}

struct Images {
  Graph graph;
  ValueId x = graph.input("features", {DType::kFloat32, Shape{8, 8, 2}, true});
  ValueId kernel = graph.variable({"conv2d/kernel", Shape{3, 3, 2, 4}});

  ValueId conv() { return graph.apply_one(ops::Conv2d(ops::Conv2dAttributes{}), {x, kernel, kNoValue}); }
};

TEST_CASE("an activation that only follows a convolution moves into it") {
  Images images;
  ValueId output = images.graph.apply_one(ops::Activation(ActivationKind::kTanh), {images.conv()});
  const Graph fused = fuse(images.graph, {&output});
  CHECK(op_names(fused) == std::vector<std::string>{"conv2d"});
  CHECK(op_of<ops::Conv2d>(fused, 0).activation == ActivationKind::kTanh);
  CHECK(output == fused.nodes()[0].outputs[0]);
}

TEST_CASE("an activation stays where somebody else reads its input, or needs it for the derivative") {
  Images images;
  ValueId conv = images.conv();
  ValueId relu = images.graph.apply_one(ops::Activation(ActivationKind::kRelu), {conv});
  CHECK(op_names(fuse(images.graph, {&relu, &conv})) == std::vector<std::string>{"conv2d", "activation"});

  Images gelu_images;
  ValueId gelu = gelu_images.graph.apply_one(ops::Activation(ActivationKind::kGelu), {gelu_images.conv()});
  CHECK(op_names(fuse(gelu_images.graph, {&gelu})) == std::vector<std::string>{"conv2d", "activation"});
}

TEST_CASE("relu before max pooling moves behind the maximum, out of the convolution too") {
  for (const bool in_convolution : {false, true}) {
    Images images;
    const ops::Conv2d op(ops::Conv2dAttributes{}, in_convolution ? ActivationKind::kRelu : ActivationKind::kLinear);
    ValueId value = images.graph.apply_one(op, {images.x, images.kernel, kNoValue});
    if (!in_convolution) value = images.graph.apply_one(ops::Activation(ActivationKind::kRelu), {value});
    ValueId pooled = images.graph.apply_one(ops::MaxPool2d(ops::Pool2dAttributes{}), {value});
    const Graph fused = fuse(images.graph, {&pooled});
    CHECK(op_names(fused) == std::vector<std::string>{"conv2d", "max_pool2d"});
    CHECK(op_of<ops::Conv2d>(fused, 0).activation == ActivationKind::kLinear);
    CHECK(op_of<ops::MaxPool2d>(fused, 1).relu);
  }
}

TEST_CASE("relu and relu6 move into the batch normalization before them") {
  for (const ActivationKind kind : {ActivationKind::kRelu, ActivationKind::kRelu6}) {
    Graph graph;
    const ValueId x = graph.input("features", {DType::kFloat32, Shape{5}, true});
    const ValueId mean = graph.variable({"mean", Shape{5}, false}),
                  variance = graph.variable({"variance", Shape{5}, false});
    const auto norm = graph.apply(ops::BatchNorm(0.9f, 1e-3f), {x, kNoValue, kNoValue, mean, variance});
    ValueId output = graph.apply_one(ops::Activation(kind), {norm[0]});
    ValueId new_mean = norm[3];
    const Graph fused = fuse(graph, {&output, &new_mean});
    CHECK(op_names(fused) == std::vector<std::string>{"batch_norm"});
    CHECK(op_of<ops::BatchNorm>(fused, 0).relu.on);
    const float most = kind == ActivationKind::kRelu ? std::numeric_limits<float>::infinity() : 6;
    CHECK(op_of<ops::BatchNorm>(fused, 0).relu.most == most);
    CHECK(new_mean == fused.nodes()[0].outputs[3]);

    Graph others;
    const ValueId y = others.input("features", {DType::kFloat32, Shape{5}, true});
    const ValueId moving = others.variable({"mean", Shape{5}, false});
    const ValueId inferred = others.apply_one(ops::BatchNormInference(1e-3f), {y, kNoValue, kNoValue, moving, moving});
    const ValueId sums = others.apply_one(ops::BatchNormSums(), {y, kNoValue});
    const ValueId by_sums = others.apply(ops::BatchNormBySums(1e-3f), {y, kNoValue, kNoValue, sums, kNoValue})[0];
    ValueId first = others.apply_one(ops::Activation(kind), {inferred});
    ValueId second = others.apply_one(ops::Activation(kind), {by_sums});
    const Graph both = fuse(others, {&first, &second});
    CHECK(op_names(both) == std::vector<std::string>{"batch_norm_inference", "batch_norm_sums", "batch_norm_by_sums"});
    CHECK(op_of<ops::BatchNormInference>(both, 0).relu.most == most);
    CHECK(op_of<ops::BatchNormBySums>(both, 2).relu.most == most);
  }
}

TEST_CASE("a crossentropy of probabilities reads the logits before them, and the probabilities stay for the metrics") {
  for (const auto kind : {ops::LossKind::kCategoricalCrossentropy, ops::LossKind::kBinaryCrossentropy,
                          ops::LossKind::kBinaryFocalCrossentropy}) {
    const bool binary = ops::is_binary(kind);
    Graph graph;
    const ValueId x = graph.input("features", {DType::kFloat32, Shape{3}, true});
    const ValueId labels = graph.input("labels", {DType::kFloat32, Shape{4}, true});
    const ValueId kernel = graph.variable({"dense/kernel", Shape{3, 4}});
    const ValueId logits = graph.apply_one(ops::Dense(), {x, kernel, kNoValue});
    ValueId output = binary ? graph.apply_one(ops::Activation(ActivationKind::kSigmoid), {logits})
                            : graph.apply_one(ops::Softmax(), {logits});
    ops::Loss given(kind);
    given.gamma = 3;
    ValueId loss = graph.apply_one(ops::Loss(given), {output, labels});
    const Graph fused = fuse(graph, {&output, &loss});

    const Node& loss_node = fused.node(fused.value(loss).producer);
    CHECK(dynamic_cast<const ops::Loss&>(*loss_node.op).from_logits);
    CHECK(dynamic_cast<const ops::Loss&>(*loss_node.op).gamma == 3);
    CHECK(fused.node(fused.value(loss_node.inputs[0]).producer).op->name() == "dense");
    CHECK(fused.node(fused.value(output).producer).op->name() == (binary ? "activation" : "softmax"));
  }
}

TEST_CASE("a loss on probabilities that come from elsewhere stays as it is") {
  Graph graph;
  ValueId output = graph.input("features", {DType::kFloat32, Shape{4}, true});
  const ValueId labels = graph.input("labels", {DType::kFloat32, Shape{4}, true});
  ValueId loss = graph.apply_one(ops::Loss(ops::LossKind::kBinaryCrossentropy), {output, labels});
  const Graph fused = fuse(graph, {&output, &loss});
  CHECK_FALSE(op_of<ops::Loss>(fused, 0).from_logits);
}

}  // namespace
}  // namespace mirrortrain
