#include "graph/regather.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "graph/ops/collective.h"
#include "graph/repeated_nodes.h"

namespace mirrortrain {
namespace {

class Regathering {
 public:
  Regathering(const Graph& graph, NodeId forward) : graph_(graph), gathered_(graph.values().size()) {
    for (NodeId id = 0; id < forward; ++id) {
      const Node& node = graph.node(id);
      const bool is_gathered = dynamic_cast<const ops::GatherParts*>(node.op.get()) != nullptr ||
                               (!node.op->is_collective() && follows_from_gathered(node));
      for (const ValueId output : node.outputs) gathered_[index(output)] = is_gathered;
    }
  }

  Graph run(std::size_t forward) {
    const std::vector<Node> nodes = graph_.nodes();
    AddedNodes before;
    std::vector<Node> changed = nodes;
    RepeatedNodes repeated(graph_, [this](ValueId value) { return gathered_[index(value)]; });
    for (std::size_t i = forward; i < nodes.size(); ++i) {
      std::vector<Node>& added = before[begin_of_layer(nodes, forward, i)];
      for (ValueId& input : changed[i].inputs) input = repeated.again(input, added);
    }
    return graph_.with_nodes(with_added(std::move(changed), std::move(before)));
  }

 private:
  bool follows_from_gathered(const Node& node) const {
    const auto follows = [this](ValueId input) { return input == kNoValue || gathered_[index(input)]; };
    return !node.inputs.empty() && std::ranges::all_of(node.inputs, follows);
  }

  Graph graph_;
  std::vector<bool> gathered_;  ///< by value: gathered in the forward part, or following from such values alone
};

}  // namespace

Graph regather(const Graph& graph, NodeId forward) {
  return Regathering(graph, forward).run(static_cast<std::size_t>(forward));
}

std::vector<Node> with_added(std::vector<Node> nodes, AddedNodes before) {
  std::vector<Node> in_order;
  for (std::size_t i = 0; i <= nodes.size(); ++i) {
    if (const auto found = before.find(i); found != before.end()) {
      std::ranges::move(found->second, std::back_inserter(in_order));
    }
    if (i < nodes.size()) in_order.push_back(std::move(nodes[i]));
  }
  return in_order;
}

std::size_t begin_of_layer(const std::vector<Node>& nodes, std::size_t from, std::size_t node) {
  std::size_t begin = node;
  while (begin > from && nodes[begin - 1].layer == nodes[node].layer) --begin;
  return begin;
}

}  // namespace mirrortrain
