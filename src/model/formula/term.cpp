#include "model/formula/term.h"

#include <algorithm>
#include <utility>

#include "graph/ops/mask.h"

namespace mirrortrain::formula {
namespace {

using ops::PointwiseFunction;
using Operand = ops::PointwiseOperand;

/// Two inputs fewer than a node may have, as its gradient reads its output and that one's gradient, too; and steps
/// whose derivatives are not too many.
constexpr std::size_t kMostInputs = ops::Pointwise::kMostInputs - 2, kMostSteps = 10;

PointwiseFunction number(double value) {
  PointwiseFunction function(0);
  function.set_result(function.constant(static_cast<float>(value)));
  return function;
}

PointwiseFunction identity() {
  PointwiseFunction function(1);
  function.set_result(function.input(0));
  return function;
}

}  // namespace

ValueId Nodes::rows() {
  if (rows_ == kNoValue) rows_ = graph.apply_one(ops::FullMask(Shape{}), {batched_});
  return rows_;
}

Term::Term(const Graph& graph, ValueId value)
    : shape_(graph.spec(value).shape), inputs_{value}, function_(identity()) {}

Term::Term(double value) : function_(number(value)) {}

ValueId Term::value() const {
  const bool is_identity = inputs_.size() == 1 && function_.result() == function_.input(0);
  return is_identity ? inputs_[0] : kNoValue;
}

bool Term::is_small() const { return inputs_.size() <= kMostInputs && function_.steps().size() <= kMostSteps; }

ValueId Term::computed(Nodes& nodes) const {
  const Graph& graph = nodes.graph;
  const ValueId known = value();
  if (known != kNoValue && graph.spec(known) == ValueSpec{nodes.dtype, shape_, true}) return known;
  const bool has_rows = std::ranges::any_of(inputs_, [&](ValueId input) { return graph.spec(input).batched; });
  if (has_rows) return ops::pointwise(nodes.graph, function_, inputs_, nodes.dtype);
  std::vector<ValueId> inputs = inputs_;
  inputs.push_back(nodes.rows());
  PointwiseFunction function(inputs.size());
  std::vector<Operand> arguments;
  for (std::size_t i = 0; i < inputs_.size(); ++i) arguments.push_back(function.input(i));
  function.set_result(function.call(function_, arguments));
  return ops::pointwise(nodes.graph, function, std::move(inputs), nodes.dtype);
}

Term Term::of(Nodes& nodes, ops::PointwiseCode code, std::vector<Term> operands) {
  Shape shape;
  for (const Term& operand : operands) shape = ops::broadcast(shape, operand.shape_);
  while (true) {
    std::vector<ValueId> inputs;
    for (const Term& operand : operands) {
      for (const ValueId input : operand.inputs_) {
        if (std::ranges::find(inputs, input) == inputs.end()) inputs.push_back(input);
      }
    }
    PointwiseFunction function(inputs.size());
    std::vector<Operand> results;
    for (const Term& operand : operands) {
      std::vector<Operand> arguments;
      for (const ValueId input : operand.inputs_) {
        arguments.push_back(
            function.input(static_cast<std::size_t>(std::ranges::find(inputs, input) - inputs.begin())));
      }
      results.push_back(function.call(operand.function_, arguments));
    }
    results.resize(3);
    function.set_result(function.apply(code, results[0], results[1], results[2]));
    Term joined(shape, std::move(inputs), std::move(function));
    if (joined.is_small()) return joined;
    // The operand that takes the most becomes a value of its own.
    const auto largest = std::ranges::max_element(operands, {}, [](const Term& operand) {
      return operand.value() != kNoValue ? 0 : operand.function_.steps().size() + operand.inputs_.size();
    });
    if (largest->value() != kNoValue) return joined;  // three values at most: it is small
    *largest = Term(nodes.graph, largest->computed(nodes));
  }
}

}  // namespace mirrortrain::formula
