#include "graph/gradients.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

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
  const auto gradients = add_gradients(model.graph, {{loss}}, {model.kernel});
  REQUIRE(gradients.size() == 1);
  CHECK(model.graph.spec(gradients[0]) == ValueSpec{DType::kFloat32, Shape{3, 2}, false});
}

TEST_CASE("no gradient is computed for the model's input") {
  Regression model;
  const ValueId loss = model.loss_of(model.graph.apply_one(ops::Dense(), {model.x, model.kernel, kNoValue}));
  add_gradients(model.graph, {{loss}}, {model.kernel});
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
  add_gradients(model.graph, {{loss}}, {model.kernel});

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

/// The nodes, in order, that make and add the gradient's terms of a value with so many consumers: a term is its
/// consumer's number, a sum stands in parentheses.
std::string backward_of_fan_in(int consumers, AggregationMethod method) {
  Regression model;
  const ValueId hidden = model.graph.apply_one(ops::Dense(), {model.x, model.kernel, kNoValue});
  std::vector<ValueId> branches;
  for (int i = 0; i < consumers; ++i) {
    branches.push_back(model.graph.apply_one(ops::Activation(ops::ActivationKind::kTanh), {hidden}));
  }
  const ValueId loss = model.loss_of(model.graph.apply_one(ops::AddN(), branches));
  const std::size_t forward_nodes = model.graph.nodes().size();
  add_gradients(model.graph, {{loss}}, {model.kernel}, method);

  std::string text;
  std::map<ValueId, std::string> names;
  for (std::size_t id = forward_nodes; id < model.graph.nodes().size(); ++id) {
    const Node& node = model.graph.nodes()[id];
    std::string& name = names[node.outputs[0]];
    if (node.op->name() == "activation_gradient") {
      name = std::to_string(std::ranges::find(branches, node.inputs[0]) - branches.begin());
    } else if (node.op->name() == "add_n") {
      for (const ValueId term : node.inputs) name += (name.empty() ? "(" : " ") + names.at(term);
      name += ")";
    } else {
      continue;
    }
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

TEST_CASE("add_n waits for all terms") {
  CHECK(backward_of_fan_in(5, AggregationMethod::kAddN) == "4, 3, 2, 1, 0, (0 1 2 3 4)");
}

TEST_CASE("accumulate_n adds each term as it comes, the last consumer's first") {
  CHECK(backward_of_fan_in(4, AggregationMethod::kAccumulateN) == "3, 2, (3 2), 1, ((3 2) 1), 0, (((3 2) 1) 0)");
}

TEST_CASE("tree adds equal sums as soon as both are there, and what is left from the smallest on") {
  CHECK(backward_of_fan_in(4, AggregationMethod::kTree) == "3, 2, (3 2), 1, 0, (1 0), ((3 2) (1 0))");
  CHECK(backward_of_fan_in(7, AggregationMethod::kTree) ==
        "6, 5, (6 5), 4, 3, (4 3), ((6 5) (4 3)), 2, 1, (2 1), 0, ((2 1) 0), (((6 5) (4 3)) ((2 1) 0))");
}

TEST_CASE("a variable's gradient is complete when its first consumer's term is there") {
  for (const AggregationMethod method :
       {AggregationMethod::kAddN, AggregationMethod::kTree, AggregationMethod::kAccumulateN}) {
    Regression model;
    const ValueId early = model.graph.variable({"early/kernel", Shape{3, 3}});
    const ValueId shared = model.graph.variable({"shared/kernel", Shape{3, 3}});
    ValueId x = model.graph.apply_one(ops::Dense(), {model.x, early, kNoValue});
    for (int i = 0; i < 3; ++i) x = model.graph.apply_one(ops::Dense(), {x, shared, kNoValue});
    const ValueId loss = model.loss_of(model.graph.apply_one(ops::Dense(), {x, model.kernel, kNoValue}));
    const auto gradients = add_gradients(model.graph, {{loss}}, {early, shared}, method);
    CHECK(model.graph.value(gradients[1]).producer < model.graph.value(gradients[0]).producer);
  }
}

TEST_CASE("a variable that the loss does not depend on has no gradient") {
  Regression model;
  const ValueId other = model.graph.variable({"other/kernel", Shape{1}});
  const ValueId loss = model.loss_of(model.graph.apply_one(ops::Dense(), {model.x, model.kernel, kNoValue}));
  const auto gradients = add_gradients(model.graph, {{loss}}, {other, model.kernel});
  CHECK(gradients[0] == kNoValue);
  CHECK(gradients[1] != kNoValue);
}

}  // namespace
}  // namespace mirrortrain
