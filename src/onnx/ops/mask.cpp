#include "graph/ops/mask.h"

#include "onnx/operators.h"

namespace mirrortrain::onnx {
namespace {

void lower_padding_mask(Lowering& to, const ops::PaddingMask&, const mirrortrain::Node& node) {
  Builder& b = to.builder();
  const std::string is_padding = b.add("Equal", {to.value(node.inputs[0]), b.number(0)});
  to.set(node.outputs[0], b.cast(b.add("Not", {is_padding}), ElementType::kFloat));
}

void lower_full_mask(Lowering& to, const ops::FullMask& op, const mirrortrain::Node& node) {
  to.set(node.outputs[0], to.filled(op.shape, 1));
}

/// A mask as truth values, with an axis of 1 behind.
std::string counts(Lowering& to, ValueId mask) {
  Builder& b = to.builder();
  return b.unsqueeze(b.cast(to.value(mask), ElementType::kBool), {-1});
}

void lower_masked_mean(Lowering& to, const ops::MaskedMean&, const mirrortrain::Node& node) {
  Builder& b = to.builder();
  const std::string mask = to.value(node.inputs[1]);
  const std::string counted = b.add("Where", {counts(to, node.inputs[1]), to.value(node.inputs[0]), b.number(0)});
  to.set(node.outputs[0], b.add("Div", {b.sum(counted, {1}, false), b.sum(mask, {1}, true)}));
}

void lower_select(Lowering& to, const ops::Select& op, const mirrortrain::Node& node) {
  Builder& b = to.builder();
  const auto choice = [&](ValueId id) { return id == kNoValue ? b.number(op.fill) : to.value(id); };
  to.set(node.outputs[0], b.add("Where", {counts(to, node.inputs[0]), choice(node.inputs[1]), choice(node.inputs[2])}));
}

}  // namespace

void add_mask_operators(OperatorRegistry& registry) {
  registry.add<ops::PaddingMask>(lower_padding_mask);
  registry.add<ops::FullMask>(lower_full_mask);
  registry.add<ops::MaskedMean>(lower_masked_mean);
  registry.add<ops::Select>(lower_select);
}

}  // namespace mirrortrain::onnx
