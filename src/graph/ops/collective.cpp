#include "graph/ops/collective.h"

#include <algorithm>

#include "graph/ops/checks.h"
#include "graph/ops/elementwise.h"

namespace mirrortrain::ops {
namespace {

/// Replicas may have different numbers of rows, so that their rows cannot be exchanged.
void expect_exchangeable(const Collective& op, const ValueSpec& spec) {
  if (op.axis == Axis::kData) expect(!spec.batched, op.name(), "a value without rows", spec);
  expect(spec.dtype == DType::kFloat32 || spec.dtype == DType::kFloat64, op.name(), "float32 or float64", spec);
}

}  // namespace

std::vector<ValueSpec> AllReduce::infer(std::span<const ValueSpec> inputs) const {
  expect_exchangeable(*this, inputs[0]);
  return {inputs[0]};
}

std::vector<ValueId> AllReduce::gradient(Graph& graph, const Node&, std::span<const ValueId> output_gradients,
                                         const std::vector<bool>& wanted) const {
  if (!flows(output_gradients, wanted)) return {kNoValue};
  return {axis == Axis::kModel ? output_gradients[0] : graph.apply_one(AllReduce(axis), {output_gradients[0]})};
}

std::vector<ValueSpec> AllGather::infer(std::span<const ValueSpec> inputs) const {
  expect_exchangeable(*this, inputs[0]);
  return std::vector<ValueSpec>(static_cast<std::size_t>(places), inputs[0]);
}

std::vector<ValueId> AllGather::gradient(Graph& graph, const Node&, std::span<const ValueId> output_gradients,
                                         const std::vector<bool>& wanted) const {
  if (!wanted[0] || std::ranges::count(output_gradients, kNoValue) == places) return {kNoValue};
  if (axis == Axis::kModel) return {output_gradients[static_cast<std::size_t>(own)]};
  if (std::ranges::count(output_gradients, kNoValue) > 0) {
    throw Error("all_gather has no gradient where only some of its outputs are used");
  }
  return {graph.apply_one(ReduceScatter(axis), {output_gradients.begin(), output_gradients.end()})};
}

std::vector<ValueSpec> ReduceScatter::infer(std::span<const ValueSpec> inputs) const {
  for (const ValueSpec& input : inputs) {
    expect_exchangeable(*this, input);
    expect(input == inputs[0], name(), "inputs that are alike", input);
  }
  return {inputs[0]};
}

std::vector<ValueId> ReduceScatter::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                             const std::vector<bool>&) const {
  if (output_gradients[0] == kNoValue) return std::vector<ValueId>(node.inputs.size(), kNoValue);
  return graph.apply(AllGather(axis, static_cast<int>(node.inputs.size())), {output_gradients[0]});
}

std::int64_t flat_part(std::int64_t elements, int places) {
  constexpr std::int64_t kLine = 64 / sizeof(float);
  const std::int64_t lines = (elements + kLine - 1) / kLine;
  return (lines + places - 1) / places * kLine;
}

std::vector<ValueSpec> GatherParts::infer(std::span<const ValueSpec> inputs) const {
  expect_exchangeable(*this, inputs[0]);
  expect(inputs[0].shape == Shape{flat_part(whole.elements(), places)}, name(), "a flat part", inputs[0]);
  return {{inputs[0].dtype, whole, false}};
}

std::vector<ValueSpec> ReduceParts::infer(std::span<const ValueSpec> inputs) const {
  expect_exchangeable(*this, inputs[0]);
  return {{inputs[0].dtype, Shape{flat_part(inputs[0].shape.elements(), places)}, false}};
}

std::vector<ValueSpec> CopyToPlaces::infer(std::span<const ValueSpec> inputs) const {
  expect(is_float(inputs[0].dtype), name(), "float32 or bfloat16", inputs[0]);
  return {inputs[0]};
}

std::vector<ValueId> CopyToPlaces::gradient(Graph& graph, const Node&, std::span<const ValueId> output_gradients,
                                            const std::vector<bool>& wanted) const {
  if (!flows(output_gradients, wanted)) return {kNoValue};
  return {sum_of_places(graph, output_gradients[0])};
}

ValueId exchangeable(Graph& graph, ValueId x) {
  if (graph.spec(x).dtype == DType::kBfloat16) return graph.apply_one(Cast(DType::kFloat32), {x});
  const bool is_computed = graph.value(x).source == Graph::Source::kNode;
  const auto reads_x = [x](const Node& node) {
    return node.op->is_collective() && std::ranges::count(node.inputs, x) > 0;
  };
  const bool is_free = is_computed && !graph.node(graph.value(x).producer).op->is_alias() &&
                       !graph.node(graph.value(x).producer).op->is_collective() &&
                       std::ranges::none_of(graph.nodes(), reads_x);
  return is_free ? x : graph.apply_one(AddN(), {x});
}

ValueId sum_of_places(Graph& graph, ValueId x) {
  const bool is_rounded = graph.spec(x).dtype == DType::kBfloat16;
  const ValueId sum = graph.apply_one(AllReduce(Axis::kModel), {exchangeable(graph, x)});
  return is_rounded ? graph.apply_one(Cast(DType::kBfloat16), {sum}) : sum;
}

ValueId not_of_collective(Graph& graph, ValueId value) {
  for (ValueId root = value; root != kNoValue && graph.value(root).source == Graph::Source::kNode;) {
    const Node& producer = graph.node(graph.value(root).producer);
    if (producer.op->is_collective()) return graph.apply_one(AddN(), {value});
    if (!producer.op->is_alias()) break;
    root = producer.inputs[0];
  }
  return value;
}

std::vector<PlacedCollective> collectives_of(const Graph& graph) {
  std::vector<PlacedCollective> collectives;
  for (const Node& node : graph.nodes()) {
    if (!node.op->is_collective()) continue;
    collectives.push_back({&dynamic_cast<const Collective&>(*node.op), node.inputs, node.outputs});
  }
  return collectives;
}

}  // namespace mirrortrain::ops
