#include "graph/fuse.h"

#include <unordered_map>

#include "graph/ops/batch_norm.h"
#include "graph/ops/conv.h"
#include "graph/ops/dense.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/loss.h"
#include "graph/ops/pool2d.h"
#include "graph/ops/synchronized_batch_norm.h"

namespace mirrortrain {
namespace {

using ops::ActivationKind;

template <class OpType>
const OpType* as(const Node& node) {
  return dynamic_cast<const OpType*>(node.op.get());
}

template <class OpType>
std::shared_ptr<const Op> share(OpType op) {
  return std::make_shared<const OpType>(std::move(op));
}

/// One rewriting of nodes into a new graph. A node whose op was merged into its producer or consumer becomes an alias.
class Fusion {
 public:
  Fusion(const Graph& graph, const std::vector<ValueId*>& kept) : graph_(graph), uses_(graph.values().size(), 0) {
    for (const Node& node : graph.nodes()) {
      for (const ValueId input : node.inputs) {
        if (input != kNoValue) ++uses_[index(input)];
      }
    }
    for (const ValueId* value : kept) {
      if (*value != kNoValue) ++uses_[index(*value)];
    }
    ops_.reserve(graph.nodes().size());
    for (const Node& node : graph.nodes()) ops_.push_back(node.op);
  }

  Graph run(const std::vector<ValueId*>& kept) {
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      move_activation_into_producer(id);
      move_relu_into_pooling(id);
      use_logits(id);
    }
    return rebuild(kept);
  }

 private:
  /// The node that makes `value`, through nodes that were merged away; -1 for inputs and variables.
  NodeId maker(ValueId value) const {
    NodeId id = graph_.value(value).producer;
    while (id >= 0 && !ops_[index(id)]) id = graph_.value(graph_.node(id).inputs[0]).producer;
    return id;
  }

  template <class OpType>
  const OpType* op_at(NodeId id) const {
    return id < 0 ? nullptr : dynamic_cast<const OpType*>(ops_[index(id)].get());
  }

  /// Whether nothing else reads this node's first input, or a value merged away before it.
  bool sole_reader(NodeId id) const {
    ValueId value = graph_.node(id).inputs[0];
    while (true) {
      if (uses_[index(value)] != 1) return false;
      const NodeId producer = graph_.value(value).producer;
      if (producer < 0 || ops_[index(producer)]) return true;
      value = graph_.node(producer).inputs[0];
    }
  }

  void move_activation_into_producer(NodeId id) {
    const auto* activation = op_at<ops::Activation>(id);
    if (!activation || !sole_reader(id) || !ops::derivative_from_output(activation->kind)) return;
    const NodeId producer = maker(graph_.node(id).inputs[0]);
    if (const auto* dense = op_at<ops::Dense>(producer); dense && dense->activation == ActivationKind::kLinear) {
      merge(id, producer, share(ops::Dense(activation->kind)));
    } else if (const auto* conv = op_at<ops::Conv2d>(producer); conv && conv->activation == ActivationKind::kLinear) {
      merge(id, producer, share(ops::Conv2d(*conv, activation->kind)));
    } else if (const auto relu = rectifier_of(activation->kind)) {
      if (const auto* norm = op_at<ops::BatchNorm>(producer); norm && !norm->relu) {
        merge(id, producer, share(ops::BatchNorm(norm->momentum, norm->epsilon, relu)));
      } else if (const auto* moving = op_at<ops::BatchNormInference>(producer); moving && !moving->relu) {
        merge(id, producer, share(ops::BatchNormInference(moving->epsilon, relu)));
      } else if (const auto* sums = op_at<ops::BatchNormBySums>(producer); sums && !sums->relu) {
        merge(id, producer, share(ops::BatchNormBySums(sums->epsilon, relu, sums->synchronized)));
      }
    }
  }

  static ops::Rectifier rectifier_of(ActivationKind kind) {
    if (kind == ActivationKind::kRelu) return {true};
    return kind == ActivationKind::kRelu6 ? ops::Rectifier{true, 6} : ops::Rectifier{};
  }

  /// `id` becomes an alias of what `producer` now makes.
  void merge(NodeId id, NodeId producer, std::shared_ptr<const Op> fused) {
    ops_[index(producer)] = std::move(fused);
    ops_[index(id)] = nullptr;
  }

  void move_relu_into_pooling(NodeId id) {
    const auto* pool = op_at<ops::MaxPool2d>(id);
    if (!pool || pool->relu || !sole_reader(id)) return;
    const NodeId producer = maker(graph_.node(id).inputs[0]);
    if (const auto* activation = op_at<ops::Activation>(producer);
        activation && activation->kind == ActivationKind::kRelu && sole_reader(producer)) {
      ops_[index(producer)] = nullptr;
    } else if (const auto* conv = op_at<ops::Conv2d>(producer); conv && conv->activation == ActivationKind::kRelu) {
      ops_[index(producer)] = share(ops::Conv2d(*conv, ActivationKind::kLinear));
    } else {
      return;
    }
    ops_[index(id)] = share(ops::MaxPool2d(*pool, true));
  }

  static bool has_form_of_logits(ops::LossKind kind) {
    return kind == ops::LossKind::kBinaryCrossentropy || kind == ops::LossKind::kCategoricalCrossentropy ||
           kind == ops::LossKind::kSparseCategoricalCrossentropy || kind == ops::LossKind::kBinaryFocalCrossentropy;
  }

  static std::shared_ptr<const Op> of_logits(ops::Loss loss) {
    loss.from_logits = true;
    return share(loss);
  }

  /// The loss reads the softmax's or sigmoid's input. The probabilities are kept for their other readers.
  void use_logits(NodeId id) {
    const auto* loss = op_at<ops::Loss>(id);
    if (!loss || loss->from_logits || !has_form_of_logits(loss->kind)) return;
    ValueId probabilities = graph_.node(id).inputs[0];
    NodeId producer = maker(probabilities);
    if (op_at<ops::Cast>(producer)) return;  // mixed precision: the probabilities were rounded, so the loss sees those
    const bool binary = ops::is_binary(loss->kind);
    const auto* activation = op_at<ops::Activation>(producer);
    const bool sigmoid = activation && activation->kind == ActivationKind::kSigmoid;
    if (binary ? sigmoid : op_at<ops::Softmax>(producer) != nullptr) {
      logits_[id] = graph_.node(producer).inputs[0];
      ops_[index(id)] = of_logits(*loss);
    } else if (const auto* dense = op_at<ops::Dense>(producer);
               binary && dense && dense->activation == ActivationKind::kSigmoid) {
      // The sigmoid went into the dense op above: make it a separate node again.
      ops_[index(producer)] = share(ops::Dense());
      split_[producer] = ActivationKind::kSigmoid;
      logits_[id] = graph_.node(producer).outputs[0];
      ops_[index(id)] = of_logits(*loss);
    }
  }

  Graph rebuild(const std::vector<ValueId*>& kept) {
    Graph fused;
    std::vector<ValueId> renamed(graph_.values().size(), kNoValue);
    std::unordered_map<ValueId, ValueId> before_split;
    for (ValueId id = 0; id < static_cast<ValueId>(graph_.values().size()); ++id) {
      const Graph::Value& value = graph_.value(id);
      if (value.source == Graph::Source::kInput) renamed[index(id)] = fused.input(value.name, value.spec);
      if (value.source == Graph::Source::kVariable) {
        renamed[index(id)] = fused.variable({value.name, value.spec.shape, true});
      }
    }
    for (NodeId id = 0; id < static_cast<NodeId>(graph_.nodes().size()); ++id) {
      const Node& node = graph_.node(id);
      fused.set_layer(node.layer);
      if (!ops_[index(id)]) {
        renamed[index(node.outputs[0])] = renamed[index(node.inputs[0])];
        continue;
      }
      std::vector<ValueId> inputs;
      for (const ValueId input : node.inputs) inputs.push_back(input == kNoValue ? kNoValue : renamed[index(input)]);
      if (const auto logits = logits_.find(id); logits != logits_.end()) {
        const auto raw = before_split.find(logits->second);
        inputs[0] = raw != before_split.end() ? raw->second : renamed[index(logits->second)];
      }
      const std::vector<ValueId> outputs = fused.apply(ops_[index(id)], inputs);
      for (std::size_t i = 0; i < outputs.size(); ++i) renamed[index(node.outputs[i])] = outputs[i];
      if (const auto split = split_.find(id); split != split_.end()) {
        before_split[node.outputs[0]] = outputs[0];
        renamed[index(node.outputs[0])] = fused.apply_one(ops::Activation(split->second), {outputs[0]});
      }
    }
    for (ValueId* value : kept) {
      if (*value != kNoValue) *value = renamed[index(*value)];
    }
    return fused;
  }

  const Graph& graph_;
  std::vector<int> uses_;
  std::vector<std::shared_ptr<const Op>> ops_;  ///< null: merged, its output is its first input
  std::unordered_map<NodeId, ValueId> logits_;
  std::unordered_map<NodeId, ActivationKind> split_;
};

}  // namespace

Graph fuse(const Graph& graph, const std::vector<ValueId*>& kept) { return Fusion(graph, kept).run(kept); }

}  // namespace mirrortrain
