#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace mirrortrain::testing {

/// Of the graph's nodes, in order.
inline std::vector<std::string> op_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) names.emplace_back(node.op->name());
  return names;
}

}  // namespace mirrortrain::testing
