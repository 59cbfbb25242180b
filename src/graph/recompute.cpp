#include "graph/recompute.h"

#include <utility>
#include <vector>

#include "graph/repeated_nodes.h"

namespace mirrortrain {
namespace {

class Recomputation {
 public:
  Recomputation(const Graph& graph, NodeId forward, const std::function<int(const std::string&)>& unit_of)
      : graph_(graph), forward_(forward) {
    for (NodeId id = 0; id < forward; ++id) units_.push_back(unit_of(graph.node(id).layer));
    is_kept_.resize(graph.values().size());
    for (NodeId id = 0; id < forward; ++id) {
      for (const ValueId input : graph.node(id).inputs) {
        if (input != kNoValue && unit_of_value(input) != units_[index(id)]) is_kept_[index(input)] = true;
      }
      // What collectives exchange has memory of its own, and exchanging it again would cost more than memory.
      const Node& node = graph.node(id);
      for (const ValueId output : node.outputs) {
        if (node.op->is_collective()) is_kept_[index(output)] = true;
      }
    }
  }

  Graph run() {
    const std::vector<Node> nodes = graph_.nodes();
    RepeatedNodes repeated(graph_,
                           [this](ValueId value) { return !is_kept_[index(value)] && unit_of_value(value) >= 0; });
    std::vector<Node> in_order(nodes.begin(), nodes.begin() + forward_);
    for (std::size_t i = static_cast<std::size_t>(forward_); i < nodes.size(); ++i) {
      Node node = nodes[i];
      for (ValueId& input : node.inputs) input = repeated.again(input, in_order);
      in_order.push_back(std::move(node));
    }
    return graph_.with_nodes(std::move(in_order));
  }

 private:
  /// -1: of none.
  int unit_of_value(ValueId value) const {
    const NodeId producer = graph_.value(value).source == Graph::Source::kNode ? graph_.value(value).producer : -1;
    return producer >= 0 && producer < forward_ ? units_[index(producer)] : -1;
  }

  Graph graph_;
  const NodeId forward_;
  std::vector<int> units_;     ///< by node of the forward part
  std::vector<bool> is_kept_;  ///< by value: others than its unit read it in the forward part
};

}  // namespace

Graph recompute(const Graph& graph, NodeId forward, const std::function<int(const std::string& layer)>& unit_of) {
  return Recomputation(graph, forward, unit_of).run();
}

}  // namespace mirrortrain
