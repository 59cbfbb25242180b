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
  CHECK(found[0].input == v);
  CHECK(found[0].output == total);
  CHECK(found[1].input == dy);
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

}  // namespace
}  // namespace mirrortrain
