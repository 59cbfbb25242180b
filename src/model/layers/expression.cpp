#include "model/layers/expression.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/names.h"
#include "model/formula/expression.h"
#include "model/formula/formula_graph.h"

namespace mirrortrain::layers {
namespace {

bool is_input_name(std::string_view name) {
  return name.starts_with('x') && name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

/// What is wrong with the parameters' names; empty if nothing is.
std::string wrong_name(const Expression& layer) {
  for (const auto& [name, parameter] : layer.parameters.entries) {
    const bool is_word = name.find_first_not_of(config::kNameCharacters) == std::string::npos && !name.empty() &&
                         (name[0] < '0' || name[0] > '9');
    if (!is_word) {
      return fmt::format("expected names of letters, digits and '_', found '{}'", config::shortened(name));
    }
    if (is_input_name(name)) return fmt::format("'{}' is an input of the layer; choose another name", name);
    if (formula::is_reserved(name)) {
      return fmt::format("'{}' has a meaning in every formula; choose another name", name);
    }
  }
  return "";
}

}  // namespace

config::Section<FormulaParameter> FormulaParameter::section() {
  return config::Section<FormulaParameter>("A weight that a formula names.")
      .key("shape", &FormulaParameter::shape, "Its shape; [] is a single number.", config::required,
           config::at_least(1))
      .key("initializer", &FormulaParameter::initializer, "Initializer.")
      .key("regularizer", &FormulaParameter::regularizer, "Regularizer; null: none.")
      .key("constraint", &FormulaParameter::constraint, "Constraint after each update; null: none.");
}

config::Section<Expression> Expression::section() {
  return config::Section<Expression>("A formula of the inputs' elements, with weights of its own.")
      .key("formula", &Expression::formula,
           "The output, in Python's syntax: the inputs are `x0`, `x1`, ... (`x` is `x0`), and parameters have their "
           "names. docs/formulas.md lists the functions.",
           config::required, config::aliases("expression, expr, function"))
      .key("parameters", &Expression::parameters, "Weights by the name that the formula gives them.")
      .check("formula", [](const Expression& layer) { return formula::syntax_mistake(layer.formula); })
      .check("parameters", wrong_name)
      .include<LayerCommon>();
}

bool Expression::is_input() const { return without_outer_spaces(formula) == "x"; }

ValueId Expression::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  if (builder.has_masks() && !is_input()) builder.warn_of_lost_mask("a formula carries none on");
  formula::Values values;
  for (std::size_t i = 0; i < sources.size(); ++i) values.emplace(fmt::format("x{}", i), sources[i]);
  values.emplace("x", sources[0]);
  const formula::Expression tree = formula::parse(formula);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string input = fmt::format("x{}", i);
    if (formula::reads(tree, input) || (i == 0 && formula::reads(tree, "x"))) continue;
    builder.warn(
        fmt::format("the formula does not read its input {}, so that nothing before it is trained through it; "
                    "read it, or leave it out of `inputs`",
                    input));
  }
  for (const auto& [parameter_name, parameter] : parameters.entries) {
    if (!formula::reads(tree, parameter_name)) {
      builder.warn(fmt::format("the formula does not read the parameter '{}', which is never trained; leave it out",
                               parameter_name));
    }
    values.emplace(parameter_name, builder.weight(parameter_name, Shape(parameter.shape), parameter.initializer,
                                                  parameter.regularizer, parameter.constraint));
  }
  return formula::add_formula(builder.graph(), formula, values, builder.graph().spec(sources[0]).dtype);
}

}  // namespace mirrortrain::layers
