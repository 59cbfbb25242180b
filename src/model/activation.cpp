#include "model/activation.h"

#include "graph/ops/elementwise.h"
#include "model/formula/formula_graph.h"

namespace mirrortrain {

ValueId apply_activation(Graph& graph, ActivationName activation, ValueId value) {
  if (activation == ActivationName::kLinear) return value;
  if (activation == ActivationName::kSoftmax) return graph.apply_one(ops::Softmax{}, {value});
  if (const std::optional<FormulaActivation> defined = formula_of(activation)) {
    return formula::add_formula(graph, defined->formula, {{"x", value}}, graph.spec(value).dtype);
  }
  return graph.apply_one(ops::Activation(static_cast<ops::ActivationKind>(activation)), {value});
}

}  // namespace mirrortrain
