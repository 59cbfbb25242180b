#include "onnx/builder.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

namespace mirrortrain::onnx {
namespace {

ValueInfo info(const std::string& name) { return {name, ElementType::kFloat, {"batch", std::int64_t{4}}}; }

std::vector<std::string> types_of(const Graph& graph) {
  std::vector<std::string> types;
  for (const Node& node : graph.nodes) types.push_back(node.op_type);
  return types;
}

}  // namespace

TEST_CASE("transpositions and reversals that undo each other are none") {
  Builder b("g");
  b.add_input(info("x"));
  const std::string first = b.transpose("x", {0, 3, 1, 2});
  CHECK(b.transpose(first, {0, 2, 3, 1}) == "x");
  CHECK(b.transpose(first, {0, 3, 1, 2}) != "x");
  CHECK(b.transpose("x", {0, 1, 2}) == "x");
  CHECK(b.reversed(b.reversed("x", 1), 1) == "x");
  CHECK(b.reversed(b.reversed("x", 1), 2) != "x");
}

TEST_CASE("equal nodes and constants are one, others are not") {
  Builder b("g");
  b.add_input(info("x"));
  CHECK(b.number(2) == b.number(2));
  CHECK(b.number(2) != b.number(3));
  CHECK(b.vector({1}) != b.constant(integers({}, std::vector<std::int64_t>{1})));
  CHECK(b.add("Add", {"x", b.number(2)}) == b.add("Add", {"x", b.number(2)}));
  CHECK(b.add("Elu", {"x"}, {{"alpha", 1.0f}}) != b.add("Elu", {"x"}, {{"alpha", 2.0f}}));
}

TEST_CASE("nodes are named by their layer, and no two values have one name") {
  Builder b("g");
  b.add_input(info("x"));
  b.set_scope("dense");
  CHECK(b.add("MatMul", {"x", b.number(1)}) == "dense/MatMul");
  CHECK(b.add("MatMul", {"x", b.number(2)}) == "dense/MatMul_1");
  CHECK(b.unique("x") == "x_1");
  Builder inner = b.inner("body");
  CHECK(inner.add("MatMul", {"x", b.number(3)}) == "dense/MatMul_2");
}

TEST_CASE("what no output depends on is left out") {
  Builder b("g");
  b.add_input(info("x"));
  b.add_initializer("unread", floats({1}, std::vector<float>{1}));
  const std::string weight = "read";
  b.add_initializer(weight, floats({1}, std::vector<float>{1}));
  b.add("Exp", {"x"});
  const std::string y = b.add("Mul", {"x", weight});
  b.name_output(y, "y");
  b.add_output(info("y"));
  const Graph graph = b.take();
  CHECK(types_of(graph) == std::vector<std::string>{"Mul"});
  REQUIRE(graph.initializers.size() == 1);
  CHECK(graph.initializers[0].first == weight);
  CHECK(graph.nodes[0].outputs == std::vector<std::string>{"y"});
}

TEST_CASE("an output that is an input, or another output, is a copy") {
  Builder b("g");
  b.add_input(info("x"));
  b.name_output("x", "same");
  const std::string y = b.add("Exp", {"x"});
  b.name_output(y, "one");
  b.name_output(y, "other");
  for (const char* const name : {"same", "one", "other"}) b.add_output(info(name));
  const Graph graph = b.take();
  CHECK(types_of(graph) == std::vector<std::string>{"Identity", "Exp", "Identity"});
  CHECK(graph.nodes[2].inputs == std::vector<std::string>{"one"});
}

TEST_CASE("what only a node's graph reads is kept, under its name") {
  Builder b("g");
  b.add_input(info("x"));
  const std::string outer = b.add("Exp", {"x"});
  Builder inner = b.inner("body");
  inner.name_output(inner.add("Neg", {outer}), "z");
  inner.add_output(info("z"));
  const std::string y = b.add("Scan", {"x"}, {{"body", std::make_shared<const Graph>(inner.take())}});
  b.name_output(outer, "seen");
  b.name_output(y, "y");
  b.add_output(info("seen"));
  b.add_output(info("y"));
  const Graph graph = b.take();
  CHECK(types_of(graph) == std::vector<std::string>{"Exp", "Scan", "Identity"});
  CHECK(graph.nodes[0].outputs == std::vector<std::string>{outer});
}

}  // namespace mirrortrain::onnx
