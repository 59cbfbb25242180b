#include "graph/ops/elementwise.h"

#include "graph/ops/activation_kind.h"
#include "graph/ops/checks.h"

namespace mirrortrain::ops {
namespace {

std::vector<ValueId> no_gradients(const Node& node) { return std::vector<ValueId>(node.inputs.size(), kNoValue); }

void expect_float(std::string_view op, const ValueSpec& spec) {
  expect(is_float(spec.dtype), op, "float32 or bfloat16", spec);
}

void expect_last_axis(std::string_view op, const ValueSpec& spec) {
  expect(is_float(spec.dtype) && spec.shape.rank() > 0, op, "float32 or bfloat16 with at least one axis", spec);
}

}  // namespace

std::vector<ValueSpec> Activation::infer(std::span<const ValueSpec> inputs) const {
  expect_float(name(), inputs[0]);
  return {inputs[0]};
}

std::vector<ValueId> Activation::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                          const std::vector<bool>& wanted) const {
  if (!wanted[0] || output_gradients[0] == kNoValue) return no_gradients(node);
  if (kind == ActivationKind::kLinear) return {output_gradients[0]};
  const ValueId from = derivative_from_output(kind) ? node.outputs[0] : node.inputs[0];
  return {graph.apply_one(ActivationGradient(kind), {from, output_gradients[0]})};
}

std::vector<ValueSpec> ActivationGradient::infer(std::span<const ValueSpec> inputs) const {
  expect_float(name(), inputs[0]);
  expect_same(name(), "the output's gradient", inputs[0], inputs[1]);
  return {inputs[0]};
}

std::vector<ValueSpec> Softmax::infer(std::span<const ValueSpec> inputs) const {
  expect_last_axis(name(), inputs[0]);
  return {inputs[0]};
}

std::vector<ValueId> Softmax::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                       const std::vector<bool>& wanted) const {
  if (!wanted[0] || output_gradients[0] == kNoValue) return no_gradients(node);
  return {graph.apply_one(SoftmaxGradient(), {node.outputs[0], output_gradients[0]})};
}

std::vector<ValueSpec> SoftmaxGradient::infer(std::span<const ValueSpec> inputs) const {
  expect_last_axis(name(), inputs[0]);
  expect_same(name(), "the output's gradient", inputs[0], inputs[1]);
  return {inputs[0]};
}

std::vector<ValueSpec> AddN::infer(std::span<const ValueSpec> inputs) const {
  if (inputs.empty()) throw Error("add_n: expected at least one input, found none");
  expect_float(name(), inputs[0]);
  for (const ValueSpec& input : inputs) expect_same(name(), "every input", inputs[0], input);
  return {inputs[0]};
}

std::vector<ValueId> AddN::gradient(Graph&, const Node& node, std::span<const ValueId> output_gradients,
                                    const std::vector<bool>& wanted) const {
  std::vector<ValueId> gradients = no_gradients(node);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (wanted[i]) gradients[i] = output_gradients[0];
  }
  return gradients;
}

std::vector<ValueSpec> Cast::infer(std::span<const ValueSpec> inputs) const {
  const bool is_number = inputs[0].dtype == DType::kInt32 && to == DType::kFloat32;
  if (!is_number) expect_float(name(), inputs[0]);
  if (!is_float(to))
    throw Error(fmt::format("cast: expected float32 or bfloat16 as its target, found {}", name_of(to)));
  return {{to, inputs[0].shape, inputs[0].batched}};
}

std::vector<ValueId> Cast::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                    const std::vector<bool>& wanted) const {
  if (!wanted[0] || output_gradients[0] == kNoValue) return no_gradients(node);
  return {graph.apply_one(Cast(graph.spec(node.inputs[0]).dtype), {output_gradients[0]})};
}

std::vector<ValueSpec> Reshape::infer(std::span<const ValueSpec> inputs) const {
  expect(inputs[0].shape.elements() == target.elements(), name(),
         fmt::format("{} elements for the shape {}", target.elements(), target.text()), inputs[0]);
  return {{inputs[0].dtype, target, inputs[0].batched}};
}

std::vector<ValueId> Reshape::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                       const std::vector<bool>& wanted) const {
  if (!wanted[0] || output_gradients[0] == kNoValue) return no_gradients(node);
  return {graph.apply_one(Reshape(graph.spec(node.inputs[0]).shape), {output_gradients[0]})};
}

std::vector<ValueSpec> Dropout::infer(std::span<const ValueSpec> inputs) const {
  expect(is_float(inputs[0].dtype) && inputs[0].batched, name(), "batched float32 or bfloat16", inputs[0]);
  if (!(rate >= 0 && rate <= 1)) throw Error(fmt::format("dropout: expected a rate between 0 and 1, found {}", rate));
  return {inputs[0]};
}

std::vector<ValueId> Dropout::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                       const std::vector<bool>& wanted) const {
  if (!wanted[0] || output_gradients[0] == kNoValue) return no_gradients(node);
  return {graph.apply_one(Dropout(rate, stream), {output_gradients[0]})};
}

std::vector<ValueSpec> RandomNormal::infer(std::span<const ValueSpec> inputs) const {
  expect(inputs[0].batched, name(), "anything batched", inputs[0]);
  return {{DType::kFloat32, shape, true}};
}

bool derivative_from_output(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kSilu:
    case ActivationKind::kGelu:
    case ActivationKind::kGeluTanh:
    case ActivationKind::kHardSilu:
    case ActivationKind::kMish: return false;
    default: return true;
  }
}

}  // namespace mirrortrain::ops
