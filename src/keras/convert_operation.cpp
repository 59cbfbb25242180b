#include "keras/convert_operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/utf8.h"
#include "config/scalar.h"
#include "keras/options.h"

namespace mirrortrain::keras {
namespace {

using config::Value;

/// An operation of Keras, the formula of its operands, {0} and {1}, and the merging layer of two tensors of one shape.
struct Operation {
  std::string_view name, formula, layer = "";
};

constexpr std::array kOperations = {
    Operation{"Add", "{0} + {1}", "add"},
    Operation{"Subtract", "{0} - {1}", "subtract"},
    Operation{"Multiply", "{0} * {1}", "multiply"},
    Operation{"TrueDivide", "{0} / {1}"},
    Operation{"Divide", "{0} / {1}"},
    Operation{"Power", "{0} ** {1}"},
    Operation{"Maximum", "maximum({0}, {1})", "maximum"},
    Operation{"Minimum", "minimum({0}, {1})", "minimum"},
    Operation{"Negative", "-{0}"},
    Operation{"Absolute", "abs({0})"},
    Operation{"Exp", "exp({0})"},
    Operation{"Expm1", "expm1({0})"},
    Operation{"Log", "log({0})"},
    Operation{"Log1p", "log1p({0})"},
    Operation{"Sqrt", "sqrt({0})"},
    Operation{"Square", "square({0})"},
    Operation{"Sin", "sin({0})"},
    Operation{"Cos", "cos({0})"},
    Operation{"Tanh", "tanh({0})"},
    Operation{"Sigmoid", "sigmoid({0})"},
    Operation{"Relu", "relu({0})"},
    Operation{"Softplus", "softplus({0})"},
    Operation{"Erf", "erf({0})"},
    Operation{"Silu", "{0} * sigmoid({0})"},
    Operation{"Matmul", "matmul({0}, {1})"},
    Operation{"StopGradient", ""},
};

std::string number_text(const Json& value) { return plain_value(value).text(); }

/// An operand: "x0", or a number.
std::optional<std::string> operand_of(const Json& argument, std::size_t& tensors) {
  if (text_at(argument, "class_name") == "__keras_tensor__") return fmt::format("x{}", tensors++);
  if (argument.is_number()) {
    const std::string text = number_text(argument);
    return text.starts_with('-') ? fmt::format("({})", text) : text;
  }
  return std::nullopt;
}

std::string filled(std::string_view formula, const std::vector<std::string>& operands) {
  std::string text;
  for (std::size_t i = 0; i < formula.size(); ++i) {
    if (formula[i] != '{') {
      text += formula[i];
      continue;
    }
    text += operands[static_cast<std::size_t>(formula[i + 1] - '0')];
    i += 2;
  }
  return text;
}

ConvertedLayer expression(const std::string& formula) {
  return {"expression", {{"formula", {}, config::text_value(formula)}}, {"expression"}};
}

/// mean(x, axis=-1): Keras counts the axis of the batch, as a formula does not.
std::optional<std::string> reduction_of(std::string_view name, const Json& config, const Call& call) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kReductions = {
      {{"Mean", "mean"}, {"Sum", "sum"}, {"Max", "max"}, {"Min", "min"}}};
  const auto found = std::ranges::find(kReductions, name, &std::pair<std::string_view, std::string_view>::first);
  if (found == kReductions.end() || call.inputs.size() != 1) return std::nullopt;
  const Json& axes = at(config, "axis");
  const Json& list = as_list(axes);
  const Json& axis = list.is_array() && list.size() == 1 ? list[0] : axes;
  const Json& shape = call.inputs.front().shape;
  if (!axis.is_number_integer() || !shape.is_array()) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t given = axis.get<std::int64_t>();
  const std::int64_t counted = given < 0 ? given : given - rank;  // from the end, where both count alike
  if (counted < 1 - rank || counted > -1) return std::nullopt;
  return fmt::format("{}(x, axis={}{})", found->second, counted,
                     at(config, "keepdims") == Json(true) ? ", keepdims=true" : "");
}

}  // namespace

ConvertedLayer convert_operation(const NetworkLayer& operation, const Call& call, Problems& problems) {
  if (const auto formula = reduction_of(operation.class_name, *operation.config, call)) return expression(*formula);
  const Json& axis = at(*operation.config, "axis");
  if (operation.class_name == "Flip" && axis.is_number_integer() && call.inputs.size() == 1) {
    return {"flip", {{"axis", {}, plain_value(axis)}}, {"flip"}};
  }
  const auto known = std::ranges::find(kOperations, operation.class_name, &Operation::name);
  std::vector<std::string> operands;
  std::size_t tensors = 0;
  bool is_known = known != kOperations.end() && call.arguments.is_array() && call.options.empty();
  if (is_known) {
    for (const Json& argument : call.arguments) {
      const auto operand = operand_of(argument, tensors);
      is_known = is_known && operand;
      if (operand) operands.push_back(*operand);
    }
  }
  const bool is_binary = is_known && known->formula.find("{1}") != std::string_view::npos;
  is_known = is_known && tensors > 0 && operands.size() == (is_binary ? 2u : 1u) && !known->formula.empty();
  if (!is_known) {
    problems.add(
        fmt::format("operation '{}' ({})", shortened(operation.name), shortened(operation.class_name)),
        "no layer here does this; write it as an expression (docs/formulas.md), or build the model with a layer of "
        "keras.layers in its place");
    return {"identity", {}, {"identity"}};
  }
  const bool are_alike =
      tensors == 2 && call.inputs[0].shape.is_array() && call.inputs[0].shape == call.inputs[1].shape;
  if (are_alike && !known->layer.empty()) {
    return {std::string(known->layer), {}, {std::string(known->layer)}};
  }
  return expression(filled(known->formula, operands));
}

}  // namespace mirrortrain::keras
