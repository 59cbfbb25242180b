#include "strategy/variables/filters.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "graph/ops/conv2d.h"

namespace mirrortrain {
namespace {

bool reads_filter(const Node& node, std::size_t input) {
  const Op* const op = node.op.get();
  return input == 1 && (dynamic_cast<const ops::Conv2d*>(op) != nullptr ||
                        dynamic_cast<const ops::Conv2dInputGradient*>(op) != nullptr);
}

void find_in(const ModelGraph& graph, std::vector<bool>& is_filter, std::vector<bool>& is_other) {
  for (const Node& node : graph.graph.nodes()) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const auto place = std::ranges::find(graph.variables, node.inputs[i]);
      const bool is_variable = node.inputs[i] != kNoValue && place != graph.variables.end();
      const auto variable = static_cast<std::size_t>(place - graph.variables.begin());
      if (is_variable) (reads_filter(node, i) ? is_filter : is_other)[variable] = true;
      if (!is_variable && reads_filter(node, i)) throw Error("the kernel of a convolution is not a variable");
    }
  }
}

/// to[column][row] = from[row][column], by strips of columns, so that the lines that are written stay near.
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

std::vector<std::size_t> find_filters(const Model& model) {
  std::vector<bool> is_filter(model.variables.size()), is_other(model.variables.size());
  find_in(model.training, is_filter, is_other);
  find_in(model.evaluation, is_filter, is_other);
  std::vector<std::size_t> filters;
  for (std::size_t i = 0; i < is_filter.size(); ++i) {
    if (is_filter[i] && is_other[i]) {
      throw Error(fmt::format("{} is read by a convolution and by others", model.variables[i].spec.name));
    }
    if (is_filter[i]) filters.push_back(i);
  }
  return filters;
}

void put_out_first(const Shape& kernel, float* elements) {
  transpose(kernel.elements() / kernel.back(), kernel.back(), elements);
}

void put_out_last(const Shape& kernel, float* elements) {
  transpose(kernel.back(), kernel.elements() / kernel.back(), elements);
}

}  // namespace mirrortrain
