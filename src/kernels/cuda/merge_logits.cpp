#include "kernels/cuda/merge_logits.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "graph/ops/elementwise.h"
#include "kernels/cuda/just.h"
#include "kernels/cuda/matrix_passes.h"
#include "kernels/cuda/merge.h"

namespace mirrortrain::cuda {
namespace {

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
      const Node& node = nodes_[i];
      if (const auto* both = just<LossWithMetric>(node)) {
        merge(i, both->loss, [op = *both](std::int64_t classes) {
          return std::make_shared<LossWithMetric>(op.loss, op.metric, classes);
        });
      } else if (const auto* loss = just<LossOfLogits>(node)) {
        merge(i, *loss, [op = *loss](std::int64_t classes) { return std::make_shared<LossOfLogits>(op, classes); });
      }
    }
    std::vector<Node> all;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      all.push_back(std::move(nodes_[i]));
      if (const auto copy = copies_.find(i); copy != copies_.end()) all.push_back(std::move(copy->second));
    }
    return graph_.with_nodes(std::move(all));
  }

 private:
  /// `longer(classes)`: the node's op of longer rows.
  template <class Longer>
  void merge(std::size_t at, const ops::Loss& op, const Longer& longer) {
    const bool of_labels = op.kind == ops::LossKind::kSparseCategoricalCrossentropy && op.from_logits;
    const ValueId logits = nodes_[at].inputs[0], gradient = nodes_[at].outputs[1];
    const ValueSpec spec = graph_.spec(logits);
    const std::int64_t classes = spec.shape.back(), stride = padded_stride(classes, spec.dtype);
    if (!of_labels || classes < kWideRows || stride == classes) return;
    const NodeId producer = graph_.value(logits).producer;
    if (producer < 0 || !padded_producer(nodes_[index(producer)], classes)) return;
    const auto is_outside = [&](std::size_t reader) { return reader == nodes_.size(); };
    if (std::ranges::any_of(readers_[index(logits)], is_outside)) return;
    for (const std::size_t reader : readers_[index(gradient)]) {
      if (is_outside(reader) || !padded_reader(nodes_[reader], gradient, classes)) return;
    }

    Node& product = nodes_[index(producer)];
    product.op = padded_producer(product, classes);
    const ValueId padded = replaced(product, 0);
    for (const std::size_t reader : readers_[index(logits)]) {
      if (reader != at) give_copy(nodes_[reader], index(producer), logits, padded);
    }
    Node& loss = nodes_[at];
    loss.op = longer(classes);
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

  /// A cast copies from the longer rows itself; others read one compact copy, made behind the product.
  void give_copy(Node& reader, std::size_t product, ValueId logits, ValueId padded) {
    const std::int64_t classes = graph_.spec(logits).shape.back();
    if (const auto* cast = just<ops::Cast>(reader)) {
      reader.op = std::make_shared<CompactRows>(classes, cast->to);
      reader.inputs[0] = padded;
      return;
    }
    const auto op = std::make_shared<CompactRows>(classes, graph_.spec(logits).dtype);
    copies_.try_emplace(product, Node{op, {padded}, {logits}, nodes_[product].layer});
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
  std::map<std::size_t, Node> copies_;             ///< by the node that they come behind
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

std::vector<ValueSpec> CompactRows::infer(std::span<const ValueSpec> inputs) const {
  ValueSpec compact = inputs[0];
  compact.dtype = to;
  compact.shape[compact.shape.rank() - 1] = columns;
  return {compact};
}

template struct OfPaddedRows<ops::Dense>;
template struct OfPaddedRows<ops::DenseInputGradient>;
template struct OfPaddedRows<ops::DenseWeightGradient>;

Graph merge_logits(const Graph& graph, const std::vector<ValueId>& outputs) {
  return LogitsMerging(graph, outputs).run();
}

}  // namespace mirrortrain::cuda
