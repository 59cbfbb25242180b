#include "graph/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "graph/ops/collective.h"

namespace mirrortrain {

std::vector<ValueId> Op::gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const {
  throw Error(fmt::format("{} has no gradient", name()));
}

ValueId Graph::input(std::string name, ValueSpec spec) {
  values_.push_back({std::move(spec), Source::kInput, -1, 0, std::move(name)});
  return static_cast<ValueId>(values_.size() - 1);
}

ValueId Graph::variable(const VariableSpec& spec) {
  ValueSpec of_value{DType::kFloat32, spec.shape, false};
  values_.push_back({std::move(of_value), Source::kVariable, -1, 0, spec.name});
  return static_cast<ValueId>(values_.size() - 1);
}

std::vector<ValueId> Graph::apply(std::shared_ptr<const Op> op, std::vector<ValueId> inputs) {
  std::vector<ValueSpec> input_specs;
  input_specs.reserve(inputs.size());
  for (const ValueId id : inputs) {
    // An absent optional input has no elements.
    input_specs.push_back(id == kNoValue ? ValueSpec{DType::kFloat32, Shape{0}, false} : spec(id));
  }
  const std::vector<ValueSpec> output_specs = op->infer(input_specs);
  for (const ValueSpec& output : output_specs) {
    if (output.shape.is_possible()) continue;
    throw Error(fmt::format("the output would have the shape {}, which has more elements than any memory can hold",
                            output.shape.text()));
  }
  const auto node_id = static_cast<NodeId>(nodes_.size());
  std::vector<ValueId> outputs;
  for (std::size_t i = 0; i < output_specs.size(); ++i) {
    outputs.push_back(static_cast<ValueId>(values_.size()));
    values_.push_back({output_specs[i], Source::kNode, node_id, static_cast<int>(i), {}});
  }
  nodes_.push_back({std::move(op), std::move(inputs), outputs, layer_});
  return outputs;
}

bool Graph::depends_on_rows(ValueId id) const {
  const Value& of = value(id);
  if (of.spec.batched) return true;
  if (of.source != Source::kNode) return false;
  const auto* const collective = dynamic_cast<const ops::Collective*>(node(of.producer).op.get());
  if (collective != nullptr && collective->axis == ops::Axis::kData) return false;
  return std::ranges::any_of(node(of.producer).inputs,
                             [this](ValueId input) { return input != kNoValue && depends_on_rows(input); });
}

Graph Graph::with_input(ValueId input, DType dtype) const {
  Graph graph = *this;
  graph.values_[static_cast<std::size_t>(input)].spec.dtype = dtype;
  return graph;
}

Graph Graph::with_nodes(std::vector<Node> nodes) const {
  Graph graph = *this;
  graph.nodes_ = std::move(nodes);
  for (Value& value : graph.values_) value.producer = -1;
  for (std::size_t node = 0; node < graph.nodes_.size(); ++node) {
    const std::vector<ValueId>& outputs = graph.nodes_[node].outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Value& value = graph.values_[static_cast<std::size_t>(outputs[i])];
      value.producer = static_cast<NodeId>(node);
      value.output = static_cast<int>(i);
    }
  }
  return graph;
}

bool same_but_for_shapes(const Graph& a, const Graph& b) {
  const auto same_value = [](const Graph::Value& one, const Graph::Value& other) {
    return one.source == other.source && one.producer == other.producer && one.output == other.output &&
           one.name == other.name && one.spec.dtype == other.spec.dtype && one.spec.batched == other.spec.batched;
  };
  const auto same_node = [](const Node& one, const Node& other) {
    return one.op->name() == other.op->name() && one.op->is_alias() == other.op->is_alias() &&
           one.inputs == other.inputs && one.outputs == other.outputs && one.layer == other.layer;
  };
  return std::ranges::equal(a.values(), b.values(), same_value) && std::ranges::equal(a.nodes(), b.nodes(), same_node);
}

}  // namespace mirrortrain
