#include "graph/ops/collective.h"

#include <doctest/doctest.h>

#include "error_text.h"
#include "graph/gradients.h"
#include "graph/ops/elementwise.h"

namespace mirrortrain {
namespace {

TEST_CASE("the gradient of an all_reduce is the all_reduce of its output's gradient") {
  Graph graph;
  const ValueId v = graph.variable({"v", Shape{2}, true});
  const ValueId total = graph.apply_one(ops::AllReduce(ops::Axis::kData), {v});
  const ValueId dy = graph.input("dy", {DType::kFloat32, Shape{2}, false});
  const Node node = graph.node(graph.value(total).producer);
  const std::vector<ValueId> gradients = node.op->gradient(graph, node, std::vector{dy}, {true});
  REQUIRE(gradients.size() == 1);
  CHECK(graph.node(graph.value(gradients[0]).producer).op->name() == "all_reduce");
  CHECK(node.op->gradient(graph, node, std::vector{dy}, {false}) == std::vector{kNoValue});
  const auto found = ops::collectives_of(graph);
  REQUIRE(found.size() == 2);
  CHECK(found[0].inputs == std::vector{v});
  CHECK(found[0].outputs == std::vector{total});
  CHECK(found[1].inputs == std::vector{dy});
}

TEST_CASE("what an all_reduce gives depends on no replica's own rows, and it takes no rows") {
  Graph graph;
  const ValueId x = graph.input("x", {DType::kFloat32, Shape{2}, true});
  const ValueId v = graph.variable({"v", Shape{2}, true});
  CHECK(graph.depends_on_rows(x));
  CHECK(!graph.depends_on_rows(graph.apply_one(ops::AllReduce(ops::Axis::kData), {v})));
  CHECK(error_text([&] { graph.apply_one(ops::AllReduce(ops::Axis::kData), {x}); }) ==
        "all_reduce: expected a value without rows, found float32 [2] per row");
}

TEST_CASE("along the model, what is whole has a whole gradient, and what parts read of it is added up") {
  Graph graph;
  const ValueSpec rows{DType::kFloat32, Shape{2}, true};
  const ValueId x = graph.input("x", rows), dy = graph.input("dy", rows);
  const auto gradient_of = [&](ValueId value, std::vector<ValueId> output_gradients) {
    const Node node = graph.node(graph.value(value).producer);
    return node.op->gradient(graph, node, output_gradients, {true})[0];
  };
  CHECK(gradient_of(graph.apply_one(ops::AllReduce(ops::Axis::kModel), {x}), {dy}) == dy);
  const ValueId summed = gradient_of(graph.apply_one(ops::CopyToPlaces(), {x}), {dy});
  CHECK(graph.node(graph.value(summed).producer).op->name() == "all_reduce");
  const std::vector<ValueId> parts = graph.apply(ops::AllGather(ops::Axis::kModel, 2, 1), {x});
  CHECK(gradient_of(parts[0], {kNoValue, dy}) == dy);  // the own part's
  CHECK(gradient_of(parts[0], {dy, kNoValue}) == kNoValue);
}

TEST_CASE("what a program writes elsewhere is copied from a collective, and from an alias of it") {
  Graph graph;
  const ValueId v = graph.variable({"v", Shape{2, 3}});
  const ValueId sum = graph.apply_one(ops::AllReduce(ops::Axis::kModel), {v});
  const ValueId flat = graph.apply_one(ops::Reshape(Shape{6}), {sum});
  for (const ValueId value : {sum, flat}) {
    const ValueId copy = ops::not_of_collective(graph, value);
    CHECK(copy != value);
    CHECK(graph.spec(copy) == graph.spec(value));
  }
  CHECK(ops::not_of_collective(graph, v) == v);
}

TEST_CASE("all_gather and reduce_scatter over data are each other's gradients") {
  Graph graph;
  const ValueSpec rows{DType::kFloat32, Shape{2}, false};
  const ValueId x = graph.input("x", rows);
  const std::vector<ValueId> parts = graph.apply(ops::AllGather(ops::Axis::kData, 3), {x});
  REQUIRE(parts.size() == 3);
  CHECK(graph.spec(parts[2]) == rows);
  const std::vector<ValueId> dy = {graph.input("a", rows), graph.input("b", rows), graph.input("c", rows)};
  const Node gather = graph.node(graph.value(parts[0]).producer);
  const ValueId dx = gather.op->gradient(graph, gather, dy, {true})[0];
  const Node scatter = graph.node(graph.value(dx).producer);
  CHECK(scatter.op->name() == "reduce_scatter");
  CHECK(scatter.inputs == dy);
  CHECK(graph.spec(dx) == rows);
  const std::vector<ValueId> back = scatter.op->gradient(graph, scatter, std::vector{x}, {true, true, true});
  CHECK(graph.node(graph.value(back[2]).producer).op->name() == "all_gather");
  CHECK(back.size() == 3);
  CHECK(error_text([&] {
          gather.op->gradient(graph, gather, std::vector{dy[0], kNoValue, dy[2]}, {true});
        }) == "all_gather has no gradient where only some of its outputs are used");
  CHECK(error_text([&] {
          graph.apply_one(ops::ReduceScatter(ops::Axis::kData),
                          {x, graph.input("d", {DType::kFloat32, Shape{3}, false})});
        }) == "reduce_scatter: expected inputs that are alike, found float32 [3]");
}

}  // namespace
}  // namespace mirrortrain
