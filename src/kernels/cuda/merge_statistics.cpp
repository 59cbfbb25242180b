#include "kernels/cuda/merge_statistics.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/cuda/just.h"
#include "kernels/cuda/merge.h"

namespace mirrortrain::cuda {
namespace {

class StatisticsMerging {
 public:
  StatisticsMerging(const Graph& graph, const std::vector<ValueId>& outputs)
      : graph_(graph), nodes_(graph.nodes()), readers_(graph.values().size()), is_output_(graph.values().size()) {
    for (const ValueId output : outputs) is_output_[index(output)] = true;
    std::vector<bool> is_needed = is_output_;
    for (std::size_t i = nodes_.size(); i-- > 0;) {
      const auto needed = [&](ValueId value) { return is_needed[index(value)]; };
      if (std::ranges::none_of(nodes_[i].outputs, needed)) continue;
      for (const ValueId input : nodes_[i].inputs) {
        if (input == kNoValue) continue;
        is_needed[index(input)] = true;
        readers_[index(input)].push_back(i);
      }
    }
  }

  Graph run() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) merge(i);
    std::erase_if(nodes_, [](const Node& node) { return node.op == nullptr; });
    return graph_.with_nodes(std::move(nodes_));
  }

 private:
  void merge(std::size_t at) {
    Node& norm = nodes_[at];
    const auto* op = dynamic_cast<const ops::BatchNorm*>(norm.op.get());
    if (op == nullptr) return;
    const ValueId x = norm.inputs[0];
    const NodeId producer = graph_.value(x).producer;
    // What is read outside may be read as soon as the convolution is done, as by another stage of a pipeline.
    if (producer < 0 || is_output_[index(x)] || !may_come_late(x, at)) return;
    Node& conv = nodes_[index(producer)];
    const auto* of_images = just<ops::Conv2d>(conv);
    if (of_images == nullptr || of_images->groups != 1 || graph_.spec(x).dtype != DType::kBfloat16) return;
    if (of_images->activation != ops::ActivationKind::kLinear) return;

    const bool of_residual = dynamic_cast<const BatchNormOfResidual*>(op) != nullptr;
    // Read, because may_come_late() wants another reader.
    norm.op = std::make_shared<Conv2dBatchNorm>(*of_images, *op, of_residual, true);
    std::vector<ValueId> inputs = conv.inputs;
    inputs.resize(Conv2dBatchNorm::kOfConvolution, kNoValue);
    inputs.insert(inputs.end(), norm.inputs.begin() + 1, norm.inputs.end());
    norm.inputs = std::move(inputs);
    norm.outputs.push_back(x);
    conv.op = nullptr;
  }

  /// Whether the node reads the value once, and before others, of which there are some: without a gradient that reads
  /// it, nobody would keep the convolution's output.
  bool may_come_late(ValueId value, std::size_t node) const {
    const std::vector<std::size_t>& last_to_first = readers_[index(value)];
    return last_to_first.size() > 1 && last_to_first.back() == node && last_to_first[last_to_first.size() - 2] != node;
  }

  const Graph& graph_;
  std::vector<Node> nodes_;                        ///< without op: merged into another one
  std::vector<std::vector<std::size_t>> readers_;  ///< by value: nodes that are needed, the last first
  std::vector<bool> is_output_;
};

}  // namespace

std::vector<ValueSpec> Conv2dBatchNorm::infer(std::span<const ValueSpec> inputs) const {
  const std::vector<ValueSpec> convolved = ops::Conv2d::infer(inputs.first(kOfConvolution));
  std::vector<ValueSpec> of_norm{convolved[0]};
  of_norm.insert(of_norm.end(), inputs.begin() + kOfConvolution, inputs.begin() + kOfConvolution + 4);
  std::vector<ValueSpec> outputs = norm.infer(of_norm);
  outputs.push_back(convolved[0]);
  return outputs;
}

Graph merge_statistics(const Graph& graph, const std::vector<ValueId>& outputs) {
  return StatisticsMerging(graph, outputs).run();
}

}  // namespace mirrortrain::cuda
