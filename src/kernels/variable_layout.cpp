#include "kernels/variable_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/error.h"
#include "graph/ops/conv.h"

namespace mirrortrain {
namespace {

bool reads_filter(const Node& node, std::size_t input) {
  const Op* const op = node.op.get();
  return input == 1 && (dynamic_cast<const ops::Conv2d*>(op) != nullptr ||
                        dynamic_cast<const ops::Conv2dInputGradient*>(op) != nullptr);
}

/// The variable that `value` is, perhaps in another shape; kNoValue where it is none, or computed elsewhere.
ValueId variable_of(const Graph& graph, ValueId value) {
  while (value != kNoValue && graph.value(value).source == Graph::Source::kNode) {
    if (graph.value(value).producer < 0) return kNoValue;
    const Node& producer = graph.node(graph.value(value).producer);
    if (!producer.op->is_alias()) return kNoValue;
    value = producer.inputs[0];
  }
  return value;
}

/// to[column][row] = from[row][column], by strips of columns, so that writes stay close together.
void transpose(std::int64_t rows, std::int64_t columns, float* elements) {
  constexpr std::int64_t kStrip = 16;
  const std::vector<float> from(elements, elements + rows * columns);
  for (std::int64_t first = 0; first < columns; first += kStrip) {
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t column = first; column < std::min(first + kStrip, columns); ++column) {
        elements[column * rows + row] = from[static_cast<std::size_t>(row * columns + column)];
      }
    }
  }
}

}  // namespace

void VariableLayout::from_canonical(float* elements) const {
  transpose(canonical.elements() / canonical.back(), canonical.back(), elements);
}

void VariableLayout::to_canonical(float* elements) const {
  transpose(canonical.back(), canonical.elements() / canonical.back(), elements);
}

std::size_t VariableLayout::axes_in_front(const Shape& shape) const {
  std::int64_t extent = 1;
  for (std::size_t count = 1; count <= shape.rank(); ++count) {
    extent *= shape[shape.rank() - count];
    if (extent == canonical.back()) return count;
  }
  throw Error(fmt::format("{} are no filters {}", shape.text(), canonical.text()));
}

VariableLayouts filters_out_first(std::span<const GraphVariables> graphs) {
  VariableLayouts layouts;
  std::set<std::size_t> of_others;
  for (const auto& [graph, variables] : graphs) {
    for (const Node& node : graph.nodes()) {
      for (std::size_t i = 0; i < node.inputs.size() && !node.op->is_alias(); ++i) {
        const auto place = std::ranges::find(variables, variable_of(graph, node.inputs[i]));
        const bool is_variable = node.inputs[i] != kNoValue && place != variables.end();
        if (!is_variable && reads_filter(node, i)) throw Error("the kernel of a convolution is not a variable");
        if (!is_variable) continue;
        const auto variable = static_cast<std::size_t>(place - variables.begin());
        if (reads_filter(node, i)) {
          layouts[variable] = {graph.spec(node.inputs[i]).shape};
        } else {
          of_others.insert(variable);
        }
      }
    }
  }
  for (const auto& [variable, layout] : layouts) {
    if (!of_others.contains(variable)) continue;
    const auto& [graph, variables] = graphs.front();
    throw Error(fmt::format("{} is read by a convolution and by others", graph.value(variables[variable]).name));
  }
  return layouts;
}

}  // namespace mirrortrain
