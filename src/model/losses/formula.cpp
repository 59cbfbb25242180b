#include "model/losses/formula.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/ops/elementwise.h"
#include "model/formula/expression.h"
#include "model/formula/formula_graph.h"

namespace mirrortrain::losses {

config::Section<Formula> Formula::section() {
  return config::Section<Formula>("A loss given as a formula, whose mean over the examples is minimized.")
      .key("formula", &Formula::formula,
           "The loss of one example, a single number, in Python's syntax: `y_pred` is the output, `y_true` the labels. "
           "docs/formulas.md lists the functions.",
           config::required)
      .check("formula", [](const Formula& loss) { return formula::syntax_mistake(loss.formula); })
      .include<LossCommon>();
}

std::vector<ValueId> Formula::inputs(Graph& graph, ValueId output, ValueId labels) const {
  if (!formula::reads(formula::parse(formula), "y_pred")) {
    throw Error("expected a formula that reads y_pred, the model's output: without it the loss trains nothing");
  }
  const ValueId value = formula::add_formula(graph, formula, {{"y_pred", output}, {"y_true", labels}}, DType::kFloat32);
  const Shape shape = graph.spec(value).shape;
  if (shape.elements() != 1) {
    throw Error(
        fmt::format("expected a formula that gives a single number for each example, found the shape {}; put "
                    "mean(...) or sum(...) around it",
                    shape.text()));
  }
  const ValueId number = graph.apply_one(ops::Reshape(Shape{1}), {value});
  return {number, number};
}

}  // namespace mirrortrain::losses
