#include "graph/ops/attention.h"

#include <vector>

#include "kernels/scalar/attention.h"
#include "onnx/operators.h"

namespace mirrortrain::onnx {
namespace {

/// Which source steps a step may see by its number alone: bool [steps, sources]; empty where all.
std::string sight_by_number(Builder& b, const ops::AttentionAttributes& op, std::int64_t steps, std::int64_t sources) {
  if (!op.causal && op.window == 0) return "";
  std::vector<bool> sees;
  scalar::AttentionShape shape(op, Shape{1, steps, op.heads}, Shape{1, sources, op.heads}, Shape{1, sources, op.heads});
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::int64_t source = 0; source < sources; ++source) {
      sees.push_back(source >= shape.first_seen(step) && source < shape.seen(step));
    }
  }
  return b.constant(booleans({steps, sources}, sees));
}

/// Which source steps each step sees: bool, broadcast to [rows, heads, steps, sources]; empty where all.
std::string sight(Lowering& to, const ops::Attention& op, const mirrortrain::Node& node) {
  Builder& b = to.builder();
  const std::int64_t steps = to.spec(node.inputs[0]).shape[0], sources = to.spec(node.inputs[1]).shape[0];
  std::string sees = sight_by_number(b, op, steps, sources);
  const auto also = [&](std::size_t input, const Ints& axes) {
    if (node.inputs.size() <= input || node.inputs[input] == kNoValue) return;
    const std::string mask = b.unsqueeze(b.cast(to.value(node.inputs[input]), ElementType::kBool), axes);
    sees = sees.empty() ? mask : b.add("And", {sees, mask});
  };
  also(4, {1, 2});  // [rows, 1, 1, sources]
  also(3, {1, 3});  // [rows, 1, steps, 1]
  return sees;
}

/// [rows, steps, heads size] as [rows, heads, steps, size], or with the last two exchanged.
std::string by_heads(Lowering& to, ValueId id, std::int64_t heads, bool transposed) {
  const Shape& shape = to.spec(id).shape;
  const std::string split = to.builder().reshape(to.value(id), {0, shape[0], heads, shape[1] / heads});
  return to.builder().transpose(split, transposed ? Ints{0, 2, 3, 1} : Ints{0, 2, 1, 3});
}

/// Scores that do not count are equal, so that a step that sees nothing attends to all alike; and so small that among
/// others they have no weight.
void lower_attention(Lowering& to, const ops::Attention& op, const mirrortrain::Node& node) {
  Builder& b = to.builder();
  std::string query = by_heads(to, node.inputs[0], op.heads, false);
  if (op.scale != 1) query = b.add("Mul", {query, b.number(op.scale)});
  std::string scores = b.add("MatMul", {query, by_heads(to, node.inputs[1], op.heads, true)});
  const std::string sees = sight(to, op, node);
  if (!sees.empty()) scores = b.add("Where", {sees, scores, b.number(scalar::AttentionSight::kHidden)});
  std::string weights = b.add("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  if (!sees.empty() && !op.blind_sees_all) weights = b.add("Where", {sees, weights, b.number(0)});
  const std::string attended = b.add("MatMul", {weights, by_heads(to, node.inputs[2], op.heads, false)});
  to.set(node.outputs[0], b.reshape(b.transpose(attended, {0, 2, 1, 3}), to.reshape_target(to.spec(node.outputs[0]))));
}

}  // namespace

void add_attention_operators(OperatorRegistry& registry) { registry.add<ops::Attention>(lower_attention); }

}  // namespace mirrortrain::onnx
