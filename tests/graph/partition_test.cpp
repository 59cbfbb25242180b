#include "graph/partition.h"

#include <doctest/doctest.h>

#include <string>

#include "error_text.h"
#include "graph/gradients.h"
#include "graph/ops/activation_kind.h"
#include "graph/ops/dense.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/loss.h"
#include "graph/ops/metric.h"
#include "graph/ops/recurrent.h"

namespace mirrortrain {
namespace {

constexpr std::int64_t kHidden = 7;

/// tanh(x k + a) v + b with a loss, as one of several places has it.
struct Local {
  Graph graph;
  ValueId k, a, v, b, loss;
  std::vector<std::optional<Sharding>> shardings;
};

Local mlp(const ModelPlace& place,
          std::vector<std::optional<Sharding>> shardings = std::vector<std::optional<Sharding>>(4)) {
  Graph whole;
  Local local;
  const ValueId x = whole.input("x", {DType::kFloat32, {6}, true}),
                labels = whole.input("labels", {DType::kFloat32, {4}, true});
  local.k = whole.variable({"k", {6, kHidden}});
  local.a = whole.variable({"a", {kHidden}});
  local.v = whole.variable({"v", {kHidden, 4}});
  local.b = whole.variable({"b", {4}});
  const ValueId hidden = whole.apply_one(ops::Dense(ops::ActivationKind::kTanh), {x, local.k, local.a});
  const ValueId y = whole.apply_one(ops::Dense(), {hidden, local.v, local.b});
  local.loss = whole.apply_one(ops::Loss(ops::LossKind::kMeanSquaredError), {y, labels});
  ShardedVariables variables{{&local.k, &local.a, &local.v, &local.b}, std::move(shardings)};
  local.graph = partition(whole, place, variables, {{&local.loss}, {}});
  local.shardings = std::move(variables.shardings);
  return local;
}

/// The ops of its nodes, aliases left out.
std::string ops_of(const Graph& graph) {
  std::string names;
  for (const Node& node : graph.nodes()) {
    if (!node.op->is_alias()) names += std::string(names.empty() ? "" : " ") + std::string(node.op->name());
  }
  return names;
}

TEST_CASE("an axis is divided into parts that differ by one unit at most, the first ones larger") {
  CHECK(part_of(50257, {0, 3}).count == 16753);
  CHECK(part_of(50257, {2, 3}).first == 33505);
  CHECK(part_of(50257, {2, 3}).end() == 50257);
  const Shape shape{4, 15};
  const Sharding heads = Sharding::along(1, 3);  // 5 units
  CHECK(heads.local(shape, {0, 2}) == Shape{4, 9});
  CHECK(heads.local(shape, {1, 2}) == Shape{4, 6});
  CHECK(heads.fits(shape, 5));
  CHECK(!heads.fits(shape, 6));
  CHECK(!Sharding::along(1, 2).fits(shape, 2));  // 15 is no multiple
  CHECK(!Sharding::along(2).fits(shape, 2));
  CHECK(same_parts({8}, Sharding::along(0), Sharding::along(0, 4), 2));
  CHECK(!same_parts({9}, Sharding::along(0), Sharding::along(0, 3), 2));
}

TEST_CASE("a sharding follows its elements into another shape") {
  CHECK(reshaped(Sharding::along(1), {6, 4, 3}, {6, 12}) == Sharding::along(1, 3));
  CHECK(reshaped(Sharding::along(1, 3), {6, 12}, {6, 4, 3}) == Sharding::along(1));
  CHECK(reshaped(Sharding::along(0), {4, 3, 5}, {12, 5}) == Sharding::along(0, 3));
  CHECK(reshaped(Sharding::along(0), {9}, {1, 9}) == Sharding::along(1));
  CHECK(reshaped(Sharding::along(1), {6, 12}, {6, 4, 3}).kind == Sharding::Kind::kOwn);  // parts of heads
  CHECK(reshaped(Sharding::along(1), {4, 9}, {36}).kind == Sharding::Kind::kOwn);
}

TEST_CASE("a pair of dense layers is divided by columns and rows, with one sum behind it") {
  const Local first = mlp({0, 2});
  CHECK(first.shardings[0] == Sharding::along(1));
  CHECK(first.shardings[1] == Sharding::along(0));
  CHECK(first.shardings[2] == Sharding::along(0));
  CHECK(first.shardings[3] == Sharding::whole());
  CHECK(ops_of(first.graph) == "dense dense all_reduce add loss");
  CHECK(first.graph.spec(first.k).shape == Shape{6, 4});
  CHECK(first.graph.spec(first.v).shape == Shape{4, 4});
  const Local second = mlp({1, 2});
  CHECK(same_but_for_shapes(first.graph, second.graph));
  CHECK(second.graph.spec(second.k).shape == Shape{6, 3});
}

TEST_CASE("logits of divided classes are never whole, neither for the loss nor for the accuracy") {
  constexpr std::int64_t kClasses = 50;
  for (const ops::LossKind kind :
       {ops::LossKind::kSparseCategoricalCrossentropy, ops::LossKind::kCategoricalCrossentropy}) {
    const bool of_labels = ops::reads_class_numbers(kind);
    Graph whole;
    const ValueId x = whole.input("x", {DType::kFloat32, {3, 6}, true});
    const ValueId labels = of_labels ? whole.input("labels", {DType::kInt32, {3}, true})
                                     : whole.input("labels", {DType::kFloat32, {3, kClasses}, true});
    ValueId kernel = whole.variable({"k", {6, kClasses}});
    const ValueId y = whole.apply_one(ops::Dense(), {x, kernel});
    std::vector<ValueId> sums{whole.apply(ops::Loss(kind, true), {y, labels}).front()};
    if (of_labels) {
      sums.push_back(whole.apply_one(ops::Metric(ops::MetricKind::kSparseCategoricalAccuracy), {y, labels}));
    }
    ShardedVariables variables{{&kernel}, {std::nullopt}};
    KeptValues kept;
    for (ValueId& sum : sums) kept.whole.push_back(&sum);
    Graph local = partition(whole, {1, 3}, variables, kept);
    const std::vector<ValueId> gradients = add_gradients(local, {{sums[0], 1}}, {kernel});
    CHECK(local.spec(gradients[0]).shape == Shape{6, 17});
    for (const Graph::Value& value : local.values()) {
      const bool is_input = value.source == Graph::Source::kInput;
      CHECK_MESSAGE((is_input || value.spec.shape.elements() < 3 * kClasses), value.spec.shape.text());
    }
  }
}

TEST_CASE("gradients of a divided graph need no sum where its input is no variable's") {
  Local local = mlp({0, 2});
  const std::vector<ValueId> gradients =
      add_gradients(local.graph, {{local.loss, 1}}, {local.k, local.a, local.v, local.b});
  std::size_t sums = 0;
  for (const Node& node : local.graph.nodes()) sums += node.op->is_collective() ? 1 : 0;
  CHECK(sums == 1);
  CHECK(local.graph.spec(gradients[0]).shape == Shape{6, 4});
  CHECK(local.graph.spec(gradients[3]).shape == Shape{4});
}

TEST_CASE("a variable that is divided otherwise than its layer computes is gathered") {
  // The kernel's rows, where x is whole: each place multiplies its part of x.
  const Local rows = mlp({0, 3}, {Sharding::along(0), Sharding::whole(), Sharding::whole(), Sharding::whole()});
  CHECK(ops_of(rows.graph) == "crop dense all_reduce add activation dense loss");
  // A bias alone: zeros take the places of the other parts in a sum.
  const Local bias = mlp({0, 3}, {Sharding::whole(), Sharding::whole(), Sharding::whole(), Sharding::along(0)});
  CHECK(ops_of(bias.graph) == "dense pad all_reduce dense loss");
}

TEST_CASE("a recurrent layer's units are divided and gathered before its first step") {
  Graph whole;
  const ValueId x = whole.input("x", {DType::kFloat32, {3, 6}, true}),
                labels = whole.input("labels", {DType::kFloat32, {3, 5}, true});
  ValueId kernel = whole.variable({"k", {6, 20}}), recurrent = whole.variable({"u", {5, 20}});
  const ValueId product = whole.apply_one(ops::Dense(), {x, kernel});
  const ValueId states =
      whole.apply(ops::Recurrent(ops::RecurrentAttributes{}), {product, recurrent, kNoValue, kNoValue}).front();
  ValueId loss = whole.apply_one(ops::Loss(ops::LossKind::kMeanSquaredError), {states, labels});
  ShardedVariables variables{{&kernel, &recurrent}, {std::nullopt, std::nullopt}};
  Graph local = partition(whole, {1, 2}, variables, {{&loss}, {}});
  CHECK(ops_of(local) == "dense all_gather concatenate pad all_reduce recurrent loss");
  const std::vector<ValueId> gradients = add_gradients(local, {{loss, 1}}, {kernel, recurrent});
  CHECK(local.spec(gradients[0]).shape == Shape{6, 10});
  CHECK(local.spec(gradients[1]).shape == Shape{2, 20});
}

TEST_CASE("a sharding that gives a place nothing is refused") {
  CHECK(error_text([] {
          mlp({0, 5}, {Sharding::whole(), Sharding::whole(), Sharding::along(1), Sharding::whole()});
        }) == "the axis 1 of 'v', of shape [7, 4], has fewer elements than the 5 places of the model");
}

}  // namespace
}  // namespace mirrortrain
