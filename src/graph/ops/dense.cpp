#include "graph/ops/dense.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/ops/checks.h"
#include "graph/ops/elementwise.h"

namespace mirrortrain::ops {
namespace {

void check_rows(std::string_view op, std::string_view what, const ValueSpec& spec) {
  if (!spec.batched || spec.shape.rank() == 0 || (spec.dtype != DType::kFloat32 && spec.dtype != DType::kBfloat16)) {
    throw Error(fmt::format("{}: {} must be rows of float32 or bfloat16 with at least one axis, found {} {}", op, what,
                            name_of(spec.dtype), spec.shape.text()));
  }
}

/// `spec` with another last axis.
ValueSpec with_features(ValueSpec spec, std::int64_t features) {
  spec.shape[spec.shape.rank() - 1] = features;
  return spec;
}

}  // namespace

std::vector<ValueSpec> Dense::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec &x = inputs[0], &kernel = inputs[1];
  check_rows(name(), "its input", x);
  if (kernel.shape.rank() != 2 || !is_float32(kernel, {x.shape.back(), kernel.shape.back()})) {
    throw Error(fmt::format("dense: an input of shape {} needs a float32 kernel [{}, units], found {}", x.shape.text(),
                            x.shape.back(), kernel.shape.text()));
  }
  const std::int64_t units = kernel.shape.back();
  if (inputs.size() > 2 && inputs[2].shape != Shape{0} && !is_float32(inputs[2], {units})) {
    throw Error(fmt::format("dense: a kernel {} needs a float32 bias [{}], found {}", kernel.shape.text(), units,
                            inputs[2].shape.text()));
  }
  return {with_features(x, units)};
}

std::vector<ValueId> Dense::gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                     const std::vector<bool>& wanted) const {
  const ValueId x = node.inputs[0], kernel = node.inputs[1];
  std::vector<ValueId> gradients(node.inputs.size(), kNoValue);
  ValueId dy = output_gradients[0];
  if (dy == kNoValue) return gradients;
  if (activation != ActivationKind::kLinear) {
    dy = graph.apply_one(ActivationGradient(activation), {node.outputs[0], dy});
  }
  if (wanted[0]) gradients[0] = graph.apply_one(DenseInputGradient(), {dy, kernel});
  const bool with_bias = node.inputs.size() > 2 && node.inputs[2] != kNoValue && wanted[2];
  if (wanted[1] || with_bias) {
    const std::vector<ValueId> weights = graph.apply(DenseWeightGradient(with_bias), {x, dy});
    if (wanted[1]) gradients[1] = weights[0];
    if (with_bias) gradients[2] = weights[1];
  }
  return gradients;
}

std::vector<ValueSpec> DenseInputGradient::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec &dy = inputs[0], &kernel = inputs[1];
  check_rows(name(), "the output's gradient", dy);
  if (kernel.shape.rank() != 2 || !is_float32(kernel, {kernel.shape[0], dy.shape.back()})) {
    throw Error(fmt::format("{}: a gradient of shape {} needs a float32 kernel [inputs, {}], found {}", name(),
                            dy.shape.text(), dy.shape.back(), kernel.shape.text()));
  }
  return {with_features(dy, kernel.shape[0])};
}

std::vector<ValueId> DenseInputGradient::gradient(Graph& graph, const Node& node,
                                                  std::span<const ValueId> output_gradients,
                                                  const std::vector<bool>& wanted) const {
  const ValueId dy = node.inputs[0], kernel = node.inputs[1], of_output = output_gradients[0];
  std::vector<ValueId> gradients{kNoValue, kNoValue};
  if (of_output == kNoValue) return gradients;
  if (wanted[0]) gradients[0] = graph.apply_one(Dense(), {of_output, kernel});
  if (wanted[1]) gradients[1] = graph.apply_one(DenseWeightGradient(false), {of_output, dy});
  return gradients;
}

std::vector<ValueSpec> DenseWeightGradient::infer(std::span<const ValueSpec> inputs) const {
  const ValueSpec &x = inputs[0], &dy = inputs[1];
  check_rows(name(), "its input", x);
  if (with_features(x, dy.shape.rank() > 0 ? dy.shape.back() : 0) != dy) {
    throw Error(fmt::format("{}: an input of shape {} and a gradient of shape {} must differ in the last axis alone",
                            name(), x.shape.text(), dy.shape.text()));
  }
  const std::int64_t units = dy.shape.back();
  std::vector<ValueSpec> outputs{{DType::kFloat32, {x.shape.back(), units}, false}};
  if (with_bias) outputs.push_back({DType::kFloat32, {units}, false});
  return outputs;
}

std::vector<ValueId> DenseWeightGradient::gradient(Graph& graph, const Node& node,
                                                   std::span<const ValueId> output_gradients,
                                                   const std::vector<bool>& wanted) const {
  const ValueId x = node.inputs[0], dy = node.inputs[1], of_kernel = output_gradients[0];
  std::vector<ValueId> gradients{kNoValue, kNoValue};
  if (of_kernel == kNoValue) return gradients;
  if (wanted[0]) gradients[0] = graph.apply_one(DenseInputGradient(), {dy, of_kernel});
  if (wanted[1]) gradients[1] = graph.apply_one(Dense(), {x, of_kernel, kNoValue});
  return gradients;
}

std::optional<Factors> factors_of(const Graph& graph, ValueId gradient) {
  const Graph::Value& value = graph.value(gradient);
  if (value.source != Graph::Source::kNode || value.output != 0) return std::nullopt;
  const Node& node = graph.node(value.producer);
  if (dynamic_cast<const DenseWeightGradient*>(node.op.get()) == nullptr) return std::nullopt;
  return Factors{node.inputs[0], node.inputs[1]};
}

}  // namespace mirrortrain::ops
