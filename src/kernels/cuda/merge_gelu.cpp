#include "kernels/cuda/merge_gelu.h"

#include <memory>
#include <utility>

#include "graph/ops/elementwise.h"

namespace mirrortrain::cuda {
namespace {

template <class OpType>
const OpType* op_of(const Node* node) {
  return node == nullptr ? nullptr : dynamic_cast<const OpType*>(node->op.get());
}

class GeluMerging {
 public:
  GeluMerging(const Graph& graph, const std::vector<ValueId>& outputs)
      : graph_(graph), nodes_(graph.nodes()), reads_(graph.values().size(), 0) {
    for (const Node& node : nodes_) {
      for (const ValueId input : node.inputs) {
        if (input != kNoValue) ++reads_[index(input)];
      }
    }
    for (const ValueId output : outputs) ++reads_[index(output)];
  }

  Graph run() {
    for (Node& node : nodes_) {
      if (const auto* gelu = op_of<ops::Activation>(&node)) merge_forward(node, *gelu);
      if (const auto* gelu = op_of<ops::ActivationGradient>(&node)) merge_gradient(node, *gelu);
    }
    std::erase_if(nodes_, [](const Node& node) { return node.op == nullptr; });
    return graph_.with_nodes(std::move(nodes_));
  }

 private:
  /// The node of the original graph that computes `value`; null for inputs and variables.
  Node* maker(ValueId value) {
    const NodeId id = graph_.value(value).producer;
    return id < 0 ? nullptr : &nodes_[index(id)];
  }

  bool has_epilogue(ops::ActivationKind kind, ValueId value) const {
    return kind == ops::ActivationKind::kGeluTanh && graph_.spec(value).dtype == DType::kBfloat16;
  }

  void merge_forward(Node& gelu, const ops::Activation& op) {
    const ValueId input = gelu.inputs[0];
    Node* const dense = maker(input);
    const auto* linear = op_of<ops::Dense>(dense);
    if (linear == nullptr || linear->activation != ops::ActivationKind::kLinear || !has_epilogue(op.kind, input))
      return;
    const bool keeps_input = reads_[index(input)] > 1;
    dense->outputs.insert(dense->outputs.begin(), gelu.outputs[0]);
    if (!keeps_input) dense->outputs.pop_back();
    dense->op = std::make_shared<DenseWithGelu>(keeps_input);
    gelu.op = nullptr;
  }

  void merge_gradient(Node& gelu, const ops::ActivationGradient& op) {
    const ValueId input = gelu.inputs[0], dy = gelu.inputs[1];
    Node* const product = maker(dy);
    if (op_of<ops::DenseInputGradient>(product) == nullptr || product->inputs.size() != 2) return;
    if (reads_[index(dy)] != 1 || !has_epilogue(op.kind, input)) return;
    // At this node, where gelu's input is there even if it is computed again.
    gelu.op = std::make_shared<DenseInputGradientOfGelu>();
    gelu.inputs = {product->inputs[0], product->inputs[1], input};
    product->op = nullptr;
  }

  const Graph& graph_;
  std::vector<Node> nodes_;  ///< without op: merged into another one
  std::vector<int> reads_;   ///< by value; outside counts, too
};

}  // namespace

std::vector<ValueSpec> DenseWithGelu::infer(std::span<const ValueSpec> inputs) const {
  std::vector<ValueSpec> outputs = ops::Dense::infer(inputs);
  if (keeps_input) outputs.push_back(outputs[0]);
  return outputs;
}

std::vector<ValueSpec> DenseInputGradientOfGelu::infer(std::span<const ValueSpec> inputs) const {
  return ops::DenseInputGradient::infer(inputs.first(2));
}

Graph merge_gelu(const Graph& graph, const std::vector<ValueId>& outputs) { return GeluMerging(graph, outputs).run(); }

}  // namespace mirrortrain::cuda
