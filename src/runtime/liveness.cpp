#include "runtime/liveness.h"

#include <algorithm>

namespace mirrortrain {
namespace {

std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

std::vector<ValueId> roots_of(const Graph& graph) {
  std::vector<ValueId> roots(graph.values().size());
  for (std::size_t i = 0; i < roots.size(); ++i) roots[i] = static_cast<ValueId>(i);
  for (const Node& node : graph.nodes()) {
    if (node.op->is_alias()) roots[index(node.outputs[0])] = roots[index(node.inputs[0])];
  }
  return roots;
}

bool any_needed(const Node& node, const std::vector<bool>& needed) {
  return std::ranges::any_of(node.outputs, [&](ValueId output) { return needed[index(output)]; });
}

std::vector<bool> needed_for(const Graph& graph, const std::vector<ValueId>& outputs) {
  std::vector<bool> needed(graph.values().size(), false);
  for (const ValueId output : outputs) needed[index(output)] = true;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    if (!any_needed(*node, needed)) continue;
    for (const ValueId input : node->inputs) {
      if (input != kNoValue) needed[index(input)] = true;
    }
  }
  return needed;
}

}  // namespace

bool is_step(const Node& node, const Liveness& liveness) {
  return !node.op->is_alias() && any_needed(node, liveness.needed);
}

Liveness liveness_of(const Graph& graph, const std::vector<ValueId>& outputs) {
  Liveness liveness{roots_of(graph), needed_for(graph, outputs), std::vector<NodeId>(graph.values().size(), -1)};
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    const Node& node = graph.node(id);
    if (!is_step(node, liveness)) continue;
    for (const ValueId input : node.inputs) {
      if (input != kNoValue) liveness.last_reader[index(liveness.roots[index(input)])] = id;
    }
  }
  return liveness;
}

}  // namespace mirrortrain
