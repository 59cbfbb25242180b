#include <vector>

#include "graph/ops/batch_norm.h"
#include "graph/ops/group_norm.h"
#include "onnx/activation.h"
#include "onnx/operators.h"

namespace mirrortrain::onnx {
namespace {

/// A vector over the channels, or one of a number where there is none.
std::string or_filled(Lowering& to, ValueId id, std::int64_t channels, float number) {
  if (id != kNoValue) return to.value(id);
  const std::vector<float> all(static_cast<std::size_t>(channels), number);
  return to.builder().constant(floats({channels}, all));
}

/// With the channels as ONNX's operator has them, if the input has; else by its formula.
void lower_batch_norm(Lowering& to, const ops::BatchNormInference& op, const mirrortrain::Node& node) {
  Builder& b = to.builder();
  const ValueId x = node.inputs[0];
  const std::string mean = to.value(node.inputs[3]), variance = to.value(node.inputs[4]);
  const bool first = to.is_channels_first(x);
  std::string y;
  if (first || to.spec(x).shape.rank() == 1) {
    const std::int64_t channels = to.spec(x).shape.back();
    const std::string gamma = or_filled(to, node.inputs[1], channels, 1);
    const std::string beta = or_filled(to, node.inputs[2], channels, 0);
    y = b.add("BatchNormalization", {first ? to.channels_first(x) : to.value(x), gamma, beta, mean, variance},
              {{"epsilon", op.epsilon}});
  } else {
    const std::string deviation = b.add("Sqrt", {b.add("Add", {variance, b.number(op.epsilon)})});
    const std::string gamma = node.inputs[1] == kNoValue ? b.number(1) : to.value(node.inputs[1]);
    y = b.add("Mul", {b.add("Sub", {to.value(x), mean}), b.add("Div", {gamma, deviation})});
    if (node.inputs[2] != kNoValue) y = b.add("Add", {y, to.value(node.inputs[2])});
  }
  to.set(node.outputs[0], rectified(b, op.relu, y), first);
}

void lower_layer_norm(Lowering& to, const ops::GroupNorm& op, const mirrortrain::Node& node) {
  const ValueId x = node.inputs[0];
  const std::string gamma = or_filled(to, node.inputs[1], to.spec(x).shape.back(), 1), beta = to.value(node.inputs[2]);
  to.set(node.outputs[0], to.builder().add("LayerNormalization", {to.value(x), gamma, beta},
                                           {{"axis", std::int64_t{-1}}, {"epsilon", op.epsilon}}));
}

/// [rows, positions, groups, channels of a group], of which the last axis, or also the positions, are normalized.
void lower_group_norm(Lowering& to, const ops::GroupNorm& op, const mirrortrain::Node& node) {
  if (op.by_position && op.groups == 1) return lower_layer_norm(to, op, node);
  Builder& b = to.builder();
  const ValueId x = node.inputs[0];
  const Shape& shape = to.spec(x).shape;
  const std::int64_t channels = shape.back(), positions = shape.elements() / channels;
  const Ints axes = op.by_position ? Ints{3} : Ints{1, 3};
  const std::string grouped = b.reshape(to.value(x), {0, positions, op.groups, channels / op.groups});
  const std::string centered = b.add("Sub", {grouped, b.add("ReduceMean", {grouped}, {{"axes", axes}})});
  const std::string variance = b.add("ReduceMean", {b.add("Mul", {centered, centered})}, {{"axes", axes}});
  const std::string deviation = b.add("Sqrt", {b.add("Add", {variance, b.number(op.epsilon)})});
  std::string y = b.reshape(b.add("Div", {centered, deviation}), to.reshape_target(to.spec(x)));
  if (node.inputs[1] != kNoValue) y = b.add("Mul", {y, to.value(node.inputs[1])});
  if (node.inputs[2] != kNoValue) y = b.add("Add", {y, to.value(node.inputs[2])});
  to.set(node.outputs[0], y);
}

}  // namespace

void add_normalization_operators(OperatorRegistry& registry) {
  registry.add<ops::BatchNormInference>(lower_batch_norm);
  registry.add<ops::GroupNorm>(lower_group_norm);
}

}  // namespace mirrortrain::onnx
