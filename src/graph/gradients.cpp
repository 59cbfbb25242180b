#include "graph/gradients.h"

#include "base/error.h"
#include "graph/ops/elementwise.h"

namespace mirrortrain {
namespace {

/// For each value: does it depend on one of `variables`, so that its gradient matters?
std::vector<bool> depends_on(const Graph& graph, const std::vector<ValueId>& variables) {
  std::vector<bool> depends(graph.values().size(), false);
  for (const ValueId variable : variables) depends[static_cast<std::size_t>(variable)] = true;
  for (const Node& node : graph.nodes()) {
    bool any = false;
    for (const ValueId input : node.inputs) any = any || (input != kNoValue && depends[static_cast<std::size_t>(input)]);
    for (const ValueId output : node.outputs) depends[static_cast<std::size_t>(output)] = any;
  }
  return depends;
}

/// The terms of each value's gradient, one per consumer, until they are added.
class Terms {
 public:
  Terms(Graph& graph, std::size_t values) : graph_(graph), terms_(values) {}

  void add(ValueId value, ValueId term) { terms_[static_cast<std::size_t>(value)].push_back(term); }

  /// The sum of the terms. They were collected walking backward, so the first consumer's comes last.
  ValueId total(ValueId value) {
    std::vector<ValueId>& terms = terms_[static_cast<std::size_t>(value)];
    if (terms.empty()) return kNoValue;
    if (terms.size() > 1) {
      std::vector<ValueId> in_order(terms.rbegin(), terms.rend());
      terms = {graph_.apply_one(ops::AddN{}, std::move(in_order))};
    }
    return terms.front();
  }

 private:
  Graph& graph_;
  std::vector<std::vector<ValueId>> terms_;
};

}  // namespace

std::vector<ValueId> add_gradients(Graph& graph, ValueId loss, const std::vector<ValueId>& variables) {
  const std::vector<bool> depends = depends_on(graph, variables);
  const NodeId loss_node = graph.value(loss).producer;
  if (loss_node < 0) throw Error("gradients start at a loss op");
  Terms terms(graph, graph.values().size());

  for (NodeId id = loss_node; id >= 0; --id) {
    const Node node = graph.node(id);  // a copy: new nodes are appended below
    std::vector<ValueId> output_gradients;
    bool flows = id == loss_node;
    for (const ValueId output : node.outputs) {
      output_gradients.push_back(id == loss_node ? kNoValue : terms.total(output));
      flows = flows || output_gradients.back() != kNoValue;
    }
    std::vector<bool> wanted;
    bool any_wanted = false;
    for (const ValueId input : node.inputs) {
      wanted.push_back(input != kNoValue && depends[static_cast<std::size_t>(input)]);
      any_wanted = any_wanted || wanted.back();
    }
    if (!flows || !any_wanted) continue;

    graph.set_layer(node.layer);
    const std::vector<ValueId> input_gradients = node.op->gradient(graph, node, output_gradients, wanted);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (wanted[i] && input_gradients[i] != kNoValue) terms.add(node.inputs[i], input_gradients[i]);
    }
  }

  std::vector<ValueId> gradients;
  for (const ValueId variable : variables) gradients.push_back(terms.total(variable));
  return gradients;
}

}  // namespace mirrortrain
