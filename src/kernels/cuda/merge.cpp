#include "kernels/cuda/merge.h"

#include <algorithm>
#include <span>

#include "graph/ops/conv.h"
#include "graph/ops/elementwise.h"
#include "kernels/cuda/merge_gelu.h"
#include "kernels/cuda/merge_logits.h"

namespace mirrortrain::cuda {
namespace {

class Merging {
 public:
  Merging(const Graph& graph, const std::vector<ValueId>& outputs)
      : graph_(graph), nodes_(graph.nodes()), reads_(graph.values().size(), 0), is_output_(graph.values().size()) {
    for (const Node& node : nodes_) {
      for (const ValueId input : node.inputs) {
        if (input != kNoValue) ++reads_[index(input)];
      }
    }
    for (const ValueId output : outputs) is_output_[index(output)] = true;
  }

  Graph run() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (op_of<ops::Loss>(nodes_[i])) merge_loss(i);
      if (op_of<ops::Activation>(nodes_[i])) merge_residual(nodes_[i]);
      if (op_of<ops::ActivationGradient>(nodes_[i])) merge_sum_of_gradients(nodes_[i]);
      if (op_of<ops::Conv2dWeightGradient>(nodes_[i])) {
        merge_bias_gradient(nodes_[i]);
        nodes_[i].op = std::make_shared<Conv2dOhwiWeightGradient>(*op_of<ops::Conv2dWeightGradient>(nodes_[i]));
      }
    }
    Graph graph = take_cast_inputs();
    std::erase_if(nodes_, [](const Node& node) { return node.op == nullptr; });
    return graph.with_nodes(std::move(nodes_));
  }

 private:
  template <class OpType>
  static const OpType* op_of(const Node& node) {
    return dynamic_cast<const OpType*>(node.op.get());
  }

  /// The node of the original graph that computes `value`; null for inputs and variables.
  Node* maker(ValueId value) {
    const NodeId id = graph_.value(value).producer;
    return id < 0 ? nullptr : &nodes_[index(id)];
  }

  static bool go_together(const ops::Loss& loss, const ops::Metric& metric) {
    switch (loss.kind) {
      case ops::LossKind::kCategoricalCrossentropy: return metric.kind == ops::MetricKind::kCategoricalAccuracy;
      case ops::LossKind::kSparseCategoricalCrossentropy:
        return metric.kind == ops::MetricKind::kSparseCategoricalAccuracy;
      default: return false;
    }
  }

  void merge_loss(std::size_t at) {
    Node& node = nodes_[at];
    const ops::Loss& loss = *op_of<ops::Loss>(node);
    const bool is_masked = node.inputs.size() > 3 && node.inputs[3] != kNoValue;  // which the metric is not
    for (std::size_t i = at + 1; i < nodes_.size() && !is_masked; ++i) {
      const auto* metric = op_of<ops::Metric>(nodes_[i]);
      if (metric == nullptr || !go_together(loss, *metric)) continue;
      if (!std::ranges::equal(nodes_[i].inputs, std::span(node.inputs).first(2))) continue;  // except the weights
      node.outputs.push_back(nodes_[i].outputs[0]);
      nodes_[i].op = nullptr;
      --reads_[index(node.inputs[0])];
      const bool of_logits = loss.from_logits;
      node.op = std::make_shared<LossWithMetric>(loss, *metric);
      if (of_logits) take_casts(node);
      return;
    }
    if (loss.kind != ops::LossKind::kSparseCategoricalCrossentropy || !loss.from_logits) return;
    node.op = std::make_shared<LossOfLogits>(loss);
    take_casts(node);
  }

  /// Reads logits that were cast from bfloat16 as bfloat16, and writes their gradient likewise. The cast is left to
  /// others that read what it makes.
  void take_casts(Node& loss) {
    const ValueId y = loss.inputs[0], dy = loss.outputs[1];
    Node* const before = maker(y);
    if (before == nullptr || !before->op || !op_of<ops::Cast>(*before)) return;
    if (reads_[index(dy)] > 1 || is_output_[index(dy)]) return;
    const auto after = std::find_if(nodes_.begin(), nodes_.end(),
                                    [&](const Node& node) { return node.op && node.inputs == std::vector{dy}; });
    if (reads_[index(dy)] == 1) {
      if (after == nodes_.end()) return;
      const auto* cast = op_of<ops::Cast>(*after);
      if (cast == nullptr || cast->to != graph_.spec(before->inputs[0]).dtype) return;
      loss.outputs[1] = after->outputs[0];
      after->op = nullptr;
    }
    loss.inputs[0] = before->inputs[0];
    ++reads_[index(before->inputs[0])];
    if (--reads_[index(y)] > 0 || is_output_[index(y)]) return;
    --reads_[index(before->inputs[0])];
    before->op = nullptr;
  }

  /// The node that computes a value with a single reader and no outside use; null if there is none or it is merged.
  Node* sole_maker(ValueId value) {
    Node* const node = maker(value);
    return node == nullptr || !node->op || reads_[index(value)] != 1 || is_output_[index(value)] ? nullptr : node;
  }

  /// Whether a node between the two reads what the first makes beside its first output.
  bool reads_more_of(const Node& made, const Node& before) const {
    return std::any_of(&made + 1, &before, [&](const Node& node) {
      return node.op != nullptr &&
             std::ranges::find_first_of(node.inputs, std::span(made.outputs).subspan(1)) != node.inputs.end();
    });
  }

  void merge_residual(Node& relu) {
    if (op_of<ops::Activation>(relu)->kind != ops::ActivationKind::kRelu) return;
    Node* const sum = sole_maker(relu.inputs[0]);
    if (sum == nullptr || !op_of<ops::AddN>(*sum) || sum->inputs.size() != 2) return;
    for (const std::size_t term : {0, 1}) {
      Node* const made = sole_maker(sum->inputs[term]);
      const auto* norm = made == nullptr ? nullptr : op_of<ops::BatchNorm>(*made);
      if (norm == nullptr || norm->relu || reads_more_of(*made, relu)) continue;
      // At this node, where the other term is also available.
      relu.op = std::make_shared<BatchNormOfResidual>(*norm);
      relu.inputs = made->inputs;
      relu.inputs.push_back(sum->inputs[1 - term]);
      relu.outputs.insert(relu.outputs.end(), made->outputs.begin() + 1, made->outputs.end());
      relu.layer = made->layer;
      made->op = sum->op = nullptr;
      return;
    }
  }

  void merge_sum_of_gradients(Node& gradient) {
    if (op_of<ops::ActivationGradient>(gradient)->kind != ops::ActivationKind::kRelu) return;
    Node* const sum = sole_maker(gradient.inputs[1]);
    if (sum == nullptr || !op_of<ops::AddN>(*sum) || sum->inputs.size() > ReluGradientOfSum::kMostTerms) return;
    gradient.op = std::make_shared<ReluGradientOfSum>();
    gradient.inputs.pop_back();
    gradient.inputs.insert(gradient.inputs.end(), sum->inputs.begin(), sum->inputs.end());
    sum->op = nullptr;
  }

  /// Inputs that are only read by a cast are passed in the cast's dtype.
  Graph take_cast_inputs() {
    Graph graph = graph_;
    for (Node& node : nodes_) {
      const auto* cast = op_of<ops::Cast>(node);
      if (cast == nullptr || is_output_[index(node.outputs[0])]) continue;
      const ValueId input = node.inputs[0];
      if (graph_.value(input).source != Graph::Source::kInput || reads_[index(input)] != 1) continue;
      graph = graph.with_input(input, cast->to);
      for (Node& reader : nodes_) std::ranges::replace(reader.inputs, node.outputs[0], input);
      node.op = nullptr;
    }
    return graph;
  }

  /// The pooling's gradient is the whole gradient of the convolution's output, so it can compute the bias's.
  void merge_bias_gradient(Node& weights) {
    const auto& op = *op_of<ops::Conv2dWeightGradient>(weights);
    Node* const before = maker(weights.inputs[1]);
    if (!op.with_bias || before == nullptr) return;
    const auto* pool = op_of<ops::MaxPool2dGradient>(*before);
    if (pool == nullptr || before->outputs.size() > 1) return;
    before->op = std::make_shared<MaxPool2dGradientWithSums>(*pool);
    before->outputs.push_back(weights.outputs[1]);
    weights.outputs.pop_back();
    weights.op = std::make_shared<ops::Conv2dWeightGradient>(op, op.kernel_shape, false);
  }

  const Graph& graph_;
  std::vector<Node> nodes_;  ///< without op: merged into another one
  std::vector<int> reads_;
  std::vector<bool> is_output_;
};

}  // namespace

std::vector<ValueSpec> LossOfLogits::infer(std::span<const ValueSpec> inputs) const {
  std::vector<ValueSpec> in_float(inputs.begin(), inputs.end());
  in_float[0].dtype = DType::kFloat32;
  std::vector<ValueSpec> outputs = ops::Loss::infer(in_float);
  outputs[1] = inputs[0];
  return outputs;
}

std::vector<ValueSpec> LossWithMetric::infer(std::span<const ValueSpec> inputs) const {
  std::vector<ValueSpec> in_float(inputs.begin(), inputs.end());
  in_float[0].dtype = DType::kFloat32;
  return {{DType::kFloat64, {}, false}, inputs[0], metric.infer(std::span(in_float).first(2))[0]};
}

std::vector<ValueSpec> MaxPool2dGradientWithSums::infer(std::span<const ValueSpec> inputs) const {
  return {ops::MaxPool2dGradient::infer(inputs)[0], {DType::kFloat32, {input_shape.back()}, false}};
}

std::vector<ValueSpec> BatchNormOfResidual::infer(std::span<const ValueSpec> inputs) const {
  return ops::BatchNorm::infer(inputs.first(5));
}

std::vector<ValueSpec> ReluGradientOfSum::infer(std::span<const ValueSpec> inputs) const { return {inputs[0]}; }

Graph merge(const Graph& graph, const std::vector<ValueId>& outputs) {
  return merge_logits(merge_gelu(Merging(graph, outputs).run(), outputs), outputs);
}

}  // namespace mirrortrain::cuda
