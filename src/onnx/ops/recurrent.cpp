#include "onnx/ops/recurrent.h"

#include <numeric>
#include <optional>
#include <vector>

#include "graph/ops/dense.h"
#include "onnx/activation.h"
#include "onnx/operators.h"

namespace mirrortrain::onnx {
namespace {

/// What a node of LSTM, GRU or RNN reads: its product with the kernel is inside.
struct CellInputs {
  std::string x;             ///< [rows, steps, features]
  std::string kernel, bias;  ///< [features, gates units], [gates units]; the bias may be empty
};

/// From the nodes that made the product; where they are others, the product itself, times the identity.
CellInputs inputs_of(Lowering& to, ValueId product, std::int64_t width) {
  const auto& value = to.graph().value(product);
  if (value.source == mirrortrain::Graph::Source::kNode) {
    const mirrortrain::Node& node = to.graph().node(value.producer);
    const auto* const dense = dynamic_cast<const ops::Dense*>(node.op.get());
    if (dense != nullptr && dense->activation == ops::ActivationKind::kLinear) {
      const std::string bias = node.inputs.size() > 2 ? to.value(node.inputs[2]) : "";
      return {to.value(node.inputs[0]), to.value(node.inputs[1]), bias};
    }
  }
  std::vector<float> identity(static_cast<std::size_t>(width * width));
  for (std::int64_t i = 0; i < width; ++i) identity[static_cast<std::size_t>(i * width + i)] = 1;
  return {to.value(product), to.builder().constant(floats({width, width}, identity)), ""};
}

/// The gates along an axis in ONNX's order: of an LSTM input, output, forget, candidate; of the others as here.
std::string in_order(Builder& b, const ops::RecurrentAttributes& cell, const std::string& value, std::int64_t axis) {
  if (cell.cell != ops::Cell::kLstm) return value;
  const std::vector<std::string> gates = b.add_many("Split", {value}, 4, {{"axis", axis}});
  return b.add("Concat", {gates[0], gates[3], gates[1], gates[2]}, {{"axis", axis}});
}

/// [in, gates units] as [1, gates units, in].
std::string weights(Builder& b, const ops::RecurrentAttributes& cell, const std::string& kernel) {
  return b.unsqueeze(b.transpose(in_order(b, cell, kernel, 1), {1, 0}), {0});
}

/// Both biases, one behind the other, as [1, 2 gates units].
std::string biases(Builder& b, const ops::RecurrentAttributes& cell, std::int64_t width, const std::string& bias,
                   const std::string& recurrent_bias) {
  if (bias.empty() && recurrent_bias.empty()) return "";
  const auto part = [&](const std::string& of) {
    if (!of.empty()) return in_order(b, cell, of, 0);
    return b.constant(floats({width}, std::vector<float>(static_cast<std::size_t>(width))));
  };
  const std::string first = part(bias), second = part(recurrent_bias);
  return b.unsqueeze(b.add("Concat", {first, second}, {{"axis", std::int64_t{0}}}), {0});
}

/// The activations of a node; nullopt where it has not all of them.
std::optional<Attributes> activations_of(const ops::RecurrentAttributes& cell) {
  std::vector<ops::ActivationKind> kinds{cell.activation};
  if (cell.cell != ops::Cell::kSimple) kinds.insert(kinds.begin(), cell.recurrent_activation);
  if (cell.cell == ops::Cell::kLstm) kinds.push_back(cell.activation);
  std::vector<std::string> names;
  std::vector<float> alpha, beta;
  for (const ops::ActivationKind kind : kinds) {
    const std::optional<CellActivation> one = cell_activation(kind);
    if (!one) return std::nullopt;
    names.push_back(one->name);
    alpha.insert(alpha.end(), one->alpha.begin(), one->alpha.end());
    beta.insert(beta.end(), one->beta.begin(), one->beta.end());
  }
  Attributes made{{"activations", names}};
  if (!alpha.empty()) made.emplace_back("activation_alpha", alpha);
  if (!beta.empty()) made.emplace_back("activation_beta", beta);
  return made;
}

std::string type_of(ops::Cell cell) {
  if (cell == ops::Cell::kLstm) return "LSTM";
  return cell == ops::Cell::kSimple ? "RNN" : "GRU";
}

/// The steps of [rows, steps, ...] with these numbers, int64 [rows, steps].
std::string picked(Builder& b, const std::string& value, const std::string& numbers) {
  return b.add("GatherND", {value, b.unsqueeze(numbers, {-1})}, {{"batch_dims", std::int64_t{1}}});
}

/// Nodes skip padding only behind a sequence, and a mask may have it anywhere: so the steps that count come first, and
/// each step has the state of the last that counts.
struct CountedSteps {
  std::string lengths;  ///< int32 [rows]
  std::string order;    ///< of all steps
  std::string before;   ///< float32 [rows, steps]: how many of the first steps, up to each, count

  CountedSteps(Builder& b, const std::string& mask, std::int64_t steps) {
    std::vector<float> numbers(static_cast<std::size_t>(steps));
    std::iota(numbers.begin(), numbers.end(), 0.0f);
    const std::string late = b.add("Mul", {b.add("Sub", {b.number(1), mask}), b.number(static_cast<float>(steps))});
    const std::string rank = b.add("Add", {late, b.constant(floats({steps}, numbers))});
    order =
        b.add_many("TopK", {rank, b.vector({steps})}, 2, {{"axis", std::int64_t{1}}, {"largest", std::int64_t{0}}})[1];
    lengths = b.cast(b.sum(mask, {1}, false), ElementType::kInt32);
    before = b.add("CumSum", {mask, b.constant(integers({}, std::vector<std::int64_t>{1}))});
  }

  std::string restored(Builder& b, const std::string& states) const {
    const std::string last = b.add("Max", {b.add("Sub", {before, b.number(1)}), b.number(0)});
    const std::string all = picked(b, states, b.cast(last, ElementType::kInt64));
    return b.add("Where", {b.unsqueeze(b.cast(before, ElementType::kBool), {-1}), all, b.number(0)});
  }
};

void lower_recurrent(Lowering& to, const ops::Recurrent& op, const mirrortrain::Node& node) {
  Builder& b = to.builder();
  const std::int64_t steps = to.spec(node.outputs[0]).shape[0], units = to.spec(node.outputs[0]).shape[1],
                     width = op.gates() * units;
  const std::string kernel = to.value(node.inputs[1]);
  const auto optional = [&](std::size_t input) {
    return node.inputs.size() > input ? to.value(node.inputs[input]) : std::string();
  };
  const std::string bias = optional(2);
  std::string mask = optional(3);
  std::optional<Attributes> attributes = activations_of(op);
  if (!attributes) {
    const std::string product = to.value(node.inputs[0]);
    return to.set(node.outputs[0], scanned_states(to, op, units, product, kernel, bias, mask));
  }
  CellInputs inputs = inputs_of(to, node.inputs[0], width);
  std::optional<CountedSteps> counted;
  if (!mask.empty()) {
    if (op.backwards) {
      inputs.x = b.reversed(inputs.x, 1);
      mask = b.reversed(mask, 1);
    }
    counted.emplace(b, mask, steps);
    inputs.x = picked(b, inputs.x, counted->order);
  }
  const bool is_reverse = op.backwards && mask.empty();
  attributes->emplace_back("direction", is_reverse ? "reverse" : "forward");
  attributes->emplace_back("hidden_size", units);
  if (type_of(op.cell) == "GRU")
    attributes->emplace_back("linear_before_reset", std::int64_t{op.cell == ops::Cell::kGru});
  const std::string x = b.transpose(inputs.x, {1, 0, 2}), w = weights(b, op, inputs.kernel), r = weights(b, op, kernel);
  const std::string both = biases(b, op, width, inputs.bias, bias);
  const std::string by_steps =
      b.add(type_of(op.cell), {x, w, r, both, counted ? counted->lengths : ""}, *std::move(attributes));
  std::string states = b.transpose(b.squeeze(by_steps, {1}), {1, 0, 2});
  if (is_reverse) states = b.reversed(states, 1);  // here in the order in which they are computed
  to.set(node.outputs[0], counted ? counted->restored(b, states) : states);
}

}  // namespace

void add_recurrent_operators(OperatorRegistry& registry) { registry.add<ops::Recurrent>(lower_recurrent); }

}  // namespace mirrortrain::onnx
