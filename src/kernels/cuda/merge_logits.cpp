#include "kernels/cuda/merge_logits.h"

#include <memory>
#include <optional>
#include <typeinfo>
#include <utility>

#include "kernels/cuda/matrix_passes.h"
#include "kernels/cuda/merge.h"

namespace mirrortrain::cuda {
namespace {

/// Whether the node's op is just of this type, and not of one that derives from it.
template <class OpType>
const OpType* just(const Node& node) {
  const Op* const op = node.op.get();
  return typeid(*op) == typeid(OpType) ? static_cast<const OpType*>(op) : nullptr;
}

class LogitsMerging {
 public:
  LogitsMerging(const Graph& graph, const std::vector<ValueId>& outputs)
      : graph_(graph), nodes_(graph.nodes()), readers_(graph.values().size()) {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (const ValueId input : nodes_[i].inputs) {
        if (input != kNoValue) readers_[index(input)].push_back(i);
      }
    }
    // What is wanted outside has a reader that is none of the ops below.
    for (const ValueId output : outputs) readers_[index(output)].push_back(nodes_.size());
  }

  Graph run() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (const auto* loss = just<LossWithMetric>(nodes_[i])) merge(i, *loss);
    }
    return graph_.with_nodes(std::move(nodes_));
  }

 private:
  void merge(std::size_t at, const LossWithMetric& op) {
    const bool of_labels = op.loss.kind == ops::LossKind::kSparseCategoricalCrossentropy && op.loss.from_logits;
    const ValueId logits = nodes_[at].inputs[0], gradient = nodes_[at].outputs[1];
    const ValueSpec spec = graph_.spec(logits);
    const std::int64_t classes = spec.shape.back(), stride = padded_stride(classes, spec.dtype);
    if (!of_labels || classes < kWideRows || stride == classes || readers_[index(logits)].size() != 1) return;
    const NodeId producer = graph_.value(logits).producer;
    if (producer < 0 || !padded_producer(nodes_[index(producer)], classes)) return;
    for (const std::size_t reader : readers_[index(gradient)]) {
      if (reader == nodes_.size() || !padded_reader(nodes_[reader], gradient, classes)) return;
    }

    Node& product = nodes_[index(producer)];
    product.op = padded_producer(product, classes);
    const ValueId padded = replaced(product, 0);
    Node& loss = nodes_[at];
    loss.op = std::make_shared<LossWithMetric>(op.loss, op.metric, classes);
    loss.inputs[0] = padded;
    const ValueId padded_gradient = replaced(loss, 1);
    for (const std::size_t reader : readers_[index(gradient)]) {
      Node& node = nodes_[reader];
      node.op = padded_reader(node, gradient, classes);
      for (ValueId& input : node.inputs) {
        if (input == gradient) input = padded_gradient;
      }
    }
  }

  /// Gives the node's output a new value, with the spec that its op infers, and returns that.
  ValueId replaced(Node& node, std::size_t output) {
    const ValueId made = graph_.apply(node.op, node.inputs)[output];
    node.outputs[output] = made;
    return made;
  }

  /// The op that makes a padded output; null if the node's cannot.
  static std::shared_ptr<const Op> padded_producer(const Node& node, std::int64_t columns) {
    if (const auto* dense = just<ops::Dense>(node)) {
      if (dense->activation != ops::ActivationKind::kLinear) return nullptr;
      return std::make_shared<OfPaddedRows<ops::Dense>>(*dense, OfPaddedRows<ops::Dense>::kOutput, columns);
    }
    const auto* tied = just<ops::DenseInputGradient>(node);
    if (tied == nullptr) return nullptr;
    return std::make_shared<OfPaddedRows<ops::DenseInputGradient>>(
        *tied, OfPaddedRows<ops::DenseInputGradient>::kOutput, columns);
  }

  /// The op that reads the padded gradient; null if the node's cannot.
  static std::shared_ptr<const Op> padded_reader(const Node& node, ValueId gradient, std::int64_t columns) {
    if (const auto* dense = just<ops::Dense>(node)) {
      if (dense->activation != ops::ActivationKind::kLinear || node.inputs[0] != gradient) return nullptr;
      return std::make_shared<OfPaddedRows<ops::Dense>>(*dense, 0, columns);
    }
    if (const auto* input = just<ops::DenseInputGradient>(node)) {
      return std::make_shared<OfPaddedRows<ops::DenseInputGradient>>(*input, 0, columns);
    }
    const auto* weights = just<ops::DenseWeightGradient>(node);
    if (weights == nullptr || node.inputs[0] == node.inputs[1]) return nullptr;
    return std::make_shared<OfPaddedRows<ops::DenseWeightGradient>>(*weights, node.inputs[0] == gradient ? 0 : 1,
                                                                    columns);
  }

  Graph graph_;
  std::vector<Node> nodes_;
  std::vector<std::vector<std::size_t>> readers_;  ///< nodes, by value
};

}  // namespace

template <class DenseOp>
std::vector<ValueSpec> OfPaddedRows<DenseOp>::infer(std::span<const ValueSpec> inputs) const {
  std::vector<ValueSpec> compact(inputs.begin(), inputs.end());
  const auto set_last = [](ValueSpec& spec, std::int64_t last) { spec.shape[spec.shape.rank() - 1] = last; };
  if (padded >= 0) set_last(compact[static_cast<std::size_t>(padded)], columns);
  std::vector<ValueSpec> outputs = DenseOp::infer(compact);
  if (padded == kOutput) set_last(outputs[0], padded_stride(columns, outputs[0].dtype));
  return outputs;
}

template struct OfPaddedRows<ops::Dense>;
template struct OfPaddedRows<ops::DenseInputGradient>;
template struct OfPaddedRows<ops::DenseWeightGradient>;

Graph merge_logits(const Graph& graph, const std::vector<ValueId>& outputs) {
  return LogitsMerging(graph, outputs).run();
}

}  // namespace mirrortrain::cuda
