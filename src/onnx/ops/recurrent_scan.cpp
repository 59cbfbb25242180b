#include <memory>
#include <vector>

#include "onnx/activation.h"
#include "onnx/ops/recurrent.h"

namespace mirrortrain::onnx {
namespace {

/// One step of a cell: what Scan's body computes. The recurrent kernel and bias are values of the graph around it.
struct CellBody {
  Builder& b;
  const ops::RecurrentAttributes& cell;
  std::int64_t units;
  std::string kernel, bias;

  std::string columns(const std::string& value, std::int64_t first, std::int64_t count, std::int64_t axis) const {
    return b.slice(value, {first * units}, {(first + count) * units}, {axis});
  }
  /// The state's product with the columns of some gates, and their bias.
  std::string product(const std::string& state, std::int64_t first, std::int64_t count) const {
    const bool all = first == 0 && count == cell.gates();
    const std::string y = b.add("MatMul", {state, all ? kernel : columns(kernel, first, count, 1)});
    if (bias.empty()) return y;
    return b.add("Add", {y, all ? bias : columns(bias, first, count, 0)});
  }
  std::string gate(const std::string& gates, std::int64_t number, ops::ActivationKind kind) const {
    return activated(b, kind, columns(gates, number, 1, 1));
  }

  /// The new state; of an LSTM also `memory`, its cell.
  std::string next(const std::string& x, const std::string& state, std::string& memory) const {
    const ops::ActivationKind inner = cell.recurrent_activation, own = cell.activation;
    if (cell.cell == ops::Cell::kSimple) return activated(b, own, b.add("Add", {x, product(state, 0, 1)}));
    if (cell.cell == ops::Cell::kLstm) {
      const std::string gates = b.add("Add", {x, product(state, 0, 4)});
      const std::string kept = b.add("Mul", {gate(gates, 1, inner), memory});
      memory = b.add("Add", {kept, b.add("Mul", {gate(gates, 0, inner), gate(gates, 2, own)})});
      return b.add("Mul", {gate(gates, 3, inner), activated(b, own, memory)});
    }
    const std::string gates = b.add("Add", {columns(x, 0, 2, 1), product(state, 0, 2)});
    const std::string update = gate(gates, 0, inner), reset = gate(gates, 1, inner);
    const bool is_after = cell.cell == ops::Cell::kGru;
    const std::string of_state =
        is_after ? b.add("Mul", {reset, product(state, 2, 1)}) : product(b.add("Mul", {reset, state}), 2, 1);
    const std::string candidate = activated(b, own, b.add("Add", {columns(x, 2, 1, 1), of_state}));
    const std::string kept = b.add("Mul", {update, state});
    return b.add("Add", {kept, b.add("Mul", {b.add("Sub", {b.number(1), update}), candidate})});
  }
};

}  // namespace

std::string scanned_states(Lowering& to, const ops::RecurrentAttributes& cell, std::int64_t units,
                           const std::string& product, const std::string& kernel, const std::string& bias,
                           const std::string& mask) {
  Builder& outer = to.builder();
  Builder b = outer.inner("step");
  const bool has_memory = cell.cell == ops::Cell::kLstm;
  const auto declare = [&](const std::string& name, std::int64_t width) {
    const std::string own = outer.unique(name);
    b.add_input({own, ElementType::kFloat, {"batch", width}});
    return own;
  };
  const std::string state = declare("state", units), memory = has_memory ? declare("memory", units) : "";
  const std::string x = declare("x", cell.gates() * units), counts = mask.empty() ? "" : declare("counts", 1);
  std::string new_memory = memory;
  std::string new_state = CellBody{b, cell, units, kernel, bias}.next(x, state, new_memory);
  if (!mask.empty()) {
    const std::string is_counted = b.cast(counts, ElementType::kBool);
    new_state = b.add("Where", {is_counted, new_state, state});
    if (has_memory) new_memory = b.add("Where", {is_counted, new_memory, memory});
  }
  const auto give = [&](const std::string& value, const std::string& name) {
    const std::string own = outer.unique(name);
    b.name_output(value, own);
    b.add_output({own, ElementType::kFloat, {"batch", units}});
  };
  give(new_state, "new_state");
  if (has_memory) give(new_memory, "new_memory");
  give(new_state, "states");

  const std::string zeros = to.filled({units}, 0);
  std::vector<std::string> inputs{zeros};
  if (has_memory) inputs.push_back(zeros);
  // Not all runtimes scan other axes than the first, or backwards.
  const auto by_steps = [&](const std::string& value) {
    const std::string steps = outer.transpose(value, {1, 0, 2});
    return cell.backwards ? outer.reversed(steps, 0) : steps;
  };
  inputs.push_back(by_steps(product));
  if (!mask.empty()) inputs.push_back(by_steps(outer.unsqueeze(mask, {-1})));
  const std::size_t scanned = mask.empty() ? 1 : 2, states = has_memory ? 2 : 1;
  const std::vector<std::string> made = outer.add_many(
      "Scan", std::move(inputs), states + 1,
      {{"body", std::make_shared<const Graph>(b.take())}, {"num_scan_inputs", static_cast<std::int64_t>(scanned)}});
  return outer.transpose(made.back(), {1, 0, 2});
}

}  // namespace mirrortrain::onnx
