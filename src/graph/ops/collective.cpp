#include "graph/ops/collective.h"

#include "graph/ops/checks.h"

namespace mirrortrain::ops {

std::vector<ValueSpec> AllReduce::infer(std::span<const ValueSpec> inputs) const {
  expect(!inputs[0].batched, name(), "a value without rows", inputs[0]);
  return {inputs[0]};
}

std::vector<ValueId> AllReduce::gradient(Graph& graph, const Node&, std::span<const ValueId> output_gradients,
                                         const std::vector<bool>& wanted) const {
  if (!flows(output_gradients, wanted)) return {kNoValue};
  return {graph.apply_one(AllReduce(axis), {output_gradients[0]})};
}

std::vector<Collective> collectives_of(const Graph& graph) {
  std::vector<Collective> collectives;
  for (const Node& node : graph.nodes()) {
    if (node.op->is_collective()) collectives.push_back({node.inputs[0], node.outputs[0]});
  }
  return collectives;
}

}  // namespace mirrortrain::ops
