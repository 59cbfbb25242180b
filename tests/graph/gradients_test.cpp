#include "graph/gradients.h"

#include <doctest/doctest.h>

#include "graph/ops/dense.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/loss.h"

namespace mirrortrain {
namespace {

struct Regression {
  Graph graph;
  ValueId x = graph.input("features", {DType::kFloat32, Shape{3}, true});
  ValueId target = graph.input("labels", {DType::kFloat32, Shape{2}, true});
  ValueId kernel = graph.variable({"dense/kernel", Shape{3, 2}});

  ValueId loss_of(ValueId output) {
    return graph.apply_one(ops::Loss(ops::LossKind::kMeanSquaredError), {output, target});
  }
};

std::size_t count_ops(const Graph& graph, std::string_view name) {
  std::size_t count = 0;
  for (const Node& node : graph.nodes()) count += node.op->name() == name;
  return count;
}

TEST_CASE("a variable's gradient has its shape, float32") {
  Regression model;
  const ValueId loss = model.loss_of(model.graph.apply_one(ops::Dense(), {model.x, model.kernel, kNoValue}));
  const auto gradients = add_gradients(model.graph, loss, {model.kernel});
  REQUIRE(gradients.size() == 1);
  CHECK(model.graph.spec(gradients[0]) == ValueSpec{DType::kFloat32, Shape{3, 2}, false});
}

TEST_CASE("no gradient is computed for the model's input") {
  Regression model;
  const ValueId loss = model.loss_of(model.graph.apply_one(ops::Dense(), {model.x, model.kernel, kNoValue}));
  add_gradients(model.graph, loss, {model.kernel});
  CHECK(count_ops(model.graph, "dense_input_gradient") == 0);
}

TEST_CASE("gradients of a value with several consumers are added in one pass, in the consumers' order") {
  Regression model;
  const ValueId hidden = model.graph.apply_one(ops::Dense(), {model.x, model.kernel, kNoValue});
  std::vector<ValueId> branches;
  for (const auto kind : {ops::ActivationKind::kRelu, ops::ActivationKind::kTanh, ops::ActivationKind::kElu}) {
    branches.push_back(model.graph.apply_one(ops::Activation(kind), {hidden}));
  }
  const ValueId loss = model.loss_of(model.graph.apply_one(ops::AddN(), branches));
  const std::size_t forward_nodes = model.graph.nodes().size();
  add_gradients(model.graph, loss, {model.kernel});

  for (std::size_t id = forward_nodes; id < model.graph.nodes().size(); ++id) {
    const Node& node = model.graph.nodes()[id];
    if (node.op->name() != "add_n") continue;
    REQUIRE(node.inputs.size() == 3);
    std::vector<ops::ActivationKind> order;
    for (const ValueId term : node.inputs) {
      const Node& maker = model.graph.node(model.graph.value(term).producer);
      order.push_back(dynamic_cast<const ops::ActivationGradient&>(*maker.op).kind);
    }
    CHECK(order == std::vector{ops::ActivationKind::kRelu, ops::ActivationKind::kTanh, ops::ActivationKind::kElu});
    return;
  }
  FAIL("nothing adds the three gradients");
}

TEST_CASE("a variable that the loss does not depend on has no gradient") {
  Regression model;
  const ValueId other = model.graph.variable({"other/kernel", Shape{1}});
  const ValueId loss = model.loss_of(model.graph.apply_one(ops::Dense(), {model.x, model.kernel, kNoValue}));
  const auto gradients = add_gradients(model.graph, loss, {other, model.kernel});
  CHECK(gradients[0] == kNoValue);
  CHECK(gradients[1] != kNoValue);
}

}  // namespace
}  // namespace mirrortrain
