#include "graph/ops/elementwise.h"

#include <algorithm>

#include "graph/ops/combine.h"
#include "onnx/activation.h"
#include "onnx/operators.h"

namespace mirrortrain::onnx {
namespace {

void lower_activation(Lowering& to, const ops::Activation& op, const mirrortrain::Node& node) {
  to.set_elementwise(node, [&](const std::string& x) { return activated(to.builder(), op.kind, x); });
}

void lower_scale(Lowering& to, const ops::Scale& op, const mirrortrain::Node& node) {
  to.set_elementwise(node, [&](const std::string& x) {
    return to.builder().add("Mul", {x, to.builder().number(op.factor)});
  });
}

/// All computation is in float32, whatever the training computed in.
void lower_cast(Lowering& to, const ops::Cast& op, const mirrortrain::Node& node) {
  if (op.to != DType::kFloat32 && op.to != DType::kBfloat16) throw NotInOnnx("it makes whole numbers");
  const bool is_float = to.spec(node.inputs[0]).dtype != DType::kInt32;
  to.set_elementwise(node,
                     [&](const std::string& x) { return is_float ? x : to.builder().cast(x, ElementType::kFloat); });
}

void lower_softmax(Lowering& to, const ops::Softmax&, const mirrortrain::Node& node) {
  to.set(node.outputs[0], to.builder().add("Softmax", {to.value(node.inputs[0])}, {{"axis", std::int64_t{-1}}}));
}

void lower_add_n(Lowering& to, const ops::AddN&, const mirrortrain::Node& node) {
  const bool first = std::ranges::any_of(node.inputs, [&](ValueId x) { return to.is_channels_first(x); });
  const auto in_form = [&](ValueId x) { return first ? to.channels_first(x) : to.value(x); };
  std::string sum = in_form(node.inputs[0]);
  for (std::size_t i = 1; i < node.inputs.size(); ++i) sum = to.builder().add("Add", {sum, in_form(node.inputs[i])});
  to.set(node.outputs[0], sum, first);
}

}  // namespace

void add_elementwise_operators(OperatorRegistry& registry) {
  registry.add<ops::Activation>(lower_activation);
  registry.add<ops::Scale>(lower_scale);
  registry.add<ops::Cast>(lower_cast);
  registry.add<ops::Softmax>(lower_softmax);
  registry.add<ops::AddN>(lower_add_n);
}

}  // namespace mirrortrain::onnx
