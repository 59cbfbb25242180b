#include "kernels/variable_layout.h"

#include <doctest/doctest.h>

#include <numeric>
#include <vector>

#include "error_text.h"
#include "graph/ops/conv.h"
#include "graph/ops/elementwise.h"

namespace mirrortrain {
namespace {

TEST_CASE("a layout with the last axis first and back is the canonical one") {
  const VariableLayout layout{Shape{2, 1, 3, 2}};
  std::vector<float> elements(12);
  std::iota(elements.begin(), elements.end(), 0.0f);
  const std::vector<float> canonical = elements;
  layout.from_canonical(elements.data());
  CHECK(elements == std::vector<float>{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11});
  layout.to_canonical(elements.data());
  CHECK(elements == canonical);
  CHECK(layout.axes_in_front(Shape{2, 1, 3, 2}) == 1);
  CHECK(VariableLayout{Shape{3, 3, 1, 8}}.axes_in_front(Shape{3, 3, 4, 2}) == 2);
  CHECK(error_text([&] { layout.axes_in_front(Shape{4, 3}); }) == "[4, 3] are no filters [2, 1, 3, 2]");
}

TEST_CASE("kernels of convolutions have output channels first, and nothing else may read them") {
  Graph graph;
  const ValueId x = graph.input("x", {DType::kFloat32, Shape{4, 4, 3}, true});
  const ValueId bias = graph.variable({"bias", Shape{8}, true});
  const ValueId kernel = graph.variable({"conv/kernel", Shape{3, 3, 3, 8}, true});
  const std::vector<ValueId> variables{bias, kernel};
  graph.apply(ops::Conv2d({}), {x, kernel, bias});
  const auto find = [&] {
    const GraphVariables graphs[] = {{graph, variables}};
    return filters_out_first(graphs);
  };
  const VariableLayouts layouts = find();
  REQUIRE(layouts.size() == 1);
  CHECK(layouts.at(1).canonical == Shape{3, 3, 3, 8});
  graph.apply(ops::AddN(), {kernel, kernel});
  CHECK(error_text(find) == "conv/kernel is read by a convolution and by others");
}

}  // namespace
}  // namespace mirrortrain
