#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/sharding.h"

namespace mirrortrain {

/// A way in which the places of the axis `model` compute a node together.
struct OpParts {
  std::vector<Sharding> inputs, outputs;  ///< of each; that of an absent input does not matter
  /// Elements, of each example if they have rows, that the places add up in it.
  std::int64_t summed = 0;
  /// Adds a place's nodes, given its inputs, and returns the outputs; null: the node's own op.
  std::function<std::vector<ValueId>(Graph& graph, std::vector<ValueId> inputs, const ModelPlace& place)> lower{};
};

/// A node of the whole graph whose inputs are divided.
struct DividedNode {
  const Graph& graph;
  const Node& node;
  int places;
  std::vector<Sharding> held;  ///< of its inputs; kWhole for variables that are not divided yet
  /// Of an input's axis, the elements that stay together: of its sharding, or of the variable that it is a view of.
  std::function<std::int64_t(std::size_t input, std::size_t axis)> unit;

  bool has(std::size_t input) const { return input < node.inputs.size() && node.inputs[input] != kNoValue; }
  const Shape& shape(std::size_t input) const { return graph.spec(node.inputs[input]).shape; }
  const Shape& output_shape(std::size_t output = 0) const { return graph.spec(node.outputs[output]).shape; }
};

/// The ways in which the node can be computed in parts, other than by every place as a whole; none for an op that
/// knows none.
std::vector<OpParts> parts_of_op(const DividedNode& node);

}  // namespace mirrortrain
