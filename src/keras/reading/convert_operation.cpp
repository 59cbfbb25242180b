#include "keras/reading/convert_operation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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
  const Json& number = text_at(argument, "class_name") == "__tensor__" ? at(at(argument, "config"), "value") : argument;
  if (number.is_number()) {
    const std::string text = number_text(number);
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

/// mean(x, axis=[-1]): Keras counts the axis of the batch, as a formula does not.
std::optional<std::string> reduction_of(std::string_view name, const Json& config, const Call& call) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kReductions = {
      {{"Mean", "mean"}, {"Sum", "sum"}, {"Max", "max"}, {"Min", "min"}}};
  const auto found = std::ranges::find(kReductions, name, &std::pair<std::string_view, std::string_view>::first);
  if (found == kReductions.end() || call.inputs.size() != 1) return std::nullopt;
  const Json& given = at(config, "axis");
  const Json& list = as_list(given);
  const Json& axes = list.is_array() ? list : Json::array({given});
  const Json& shape = call.inputs.front().shape;
  if (!shape.is_array()) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(shape.size());
  std::vector<std::int64_t> counted;  // from the end, where both count alike
  for (const Json& axis : axes) {
    if (!axis.is_number_integer()) return std::nullopt;
    counted.push_back(axis.get<std::int64_t>() - (axis < Json(0) ? 0 : rank));
    if (counted.back() < 1 - rank || counted.back() > -1) return std::nullopt;
  }
  const Json& initial = at(config, "initial");  // of the largest and the smallest: as if one more were there
  if (counted.empty() || !(initial.is_null() || initial.is_number())) return std::nullopt;
  const std::string reduced =
      fmt::format("{}(x, axis={}{})", found->second,
                  counted.size() == 1 ? std::to_string(counted[0]) : fmt::format("[{}]", fmt::join(counted, ", ")),
                  at(config, "keepdims") == Json(true) ? ", keepdims=true" : "");
  if (initial.is_null()) return reduced;
  return fmt::format("{}imum({}, {})", found->second, reduced, plain_value(initial).text());
}

/// "1:3" for a slice, "0" for a number; nullopt for what a formula does not say.
std::optional<std::string> index_text(const Json& index) {
  if (index.is_null()) return "None";
  if (index.is_number_integer()) return std::to_string(index.get<std::int64_t>());
  const auto object = as_object(index);
  if (!object) return std::nullopt;
  if (object->class_name == "__ellipsis__") return "...";
  const Json& step = at(*object->config, "step");
  if (object->class_name != "__slice__" || !(step.is_null() || step == Json(1))) return std::nullopt;
  std::string text;
  for (const char* const end : {"start", "stop"}) {
    const Json& value = at(*object->config, end);
    if (!value.is_null() && !value.is_number_integer()) return std::nullopt;
    if (!value.is_null()) text += std::to_string(value.get<std::int64_t>());
    if (text.find(':') == text.npos) text += ":";
  }
  return text;
}

/// x[:, 0] is x[0] of an example.
std::optional<std::string> part_of(const Call& call) {
  if (!call.arguments.is_array() || call.arguments.size() != 2 || call.inputs.size() != 1) return std::nullopt;
  const Json& list = as_list(call.arguments[1]);
  const Json& indices = list.is_array() ? list : Json::array({call.arguments[1]});
  std::string text;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto index = index_text(indices[i]);
    if (!index) return std::nullopt;
    if (i == 0 && *index == ":") continue;               // all of the batch
    if (i == 0 && *index != "...") return std::nullopt;  // a part of it
    text += (text.empty() ? "" : ", ") + *index;
  }
  return text.empty() ? "x" : fmt::format("x[{}]", text);
}

Json behind_first(const Json& list) {
  Json rest = Json::array();
  for (std::size_t i = 1; i < list.size(); ++i) rest.push_back(list[i]);
  return rest;
}

/// The extents of an example behind an operation that keeps the order of its numbers; nullopt for what is none, or
/// where the extents are not known.
std::optional<Json> reshaped_extents(const NetworkLayer& operation, const Call& call) {
  const Json& before = call.inputs.size() == 1 ? call.inputs.front().shape : Json();
  if (!before.is_array() || before.size() < 2) return std::nullopt;
  const Json& axis = at(*operation.config, "axis");
  const auto rank = static_cast<std::int64_t>(before.size());
  Json shape = before;
  if (operation.class_name == "ExpandDims" && axis.is_number_integer()) {
    const std::int64_t place = axis.get<std::int64_t>() + (axis < Json(0) ? rank + 1 : 0);
    if (place < 1 || place > rank) return std::nullopt;
    shape.insert(shape.begin() + place, Json(1));
  } else if (operation.class_name == "Squeeze" && axis.is_number_integer()) {
    const std::int64_t place = axis.get<std::int64_t>() + (axis < Json(0) ? rank : 0);
    if (place < 1 || place >= rank) return std::nullopt;
    shape.erase(static_cast<std::size_t>(place));
  } else {
    return std::nullopt;
  }
  Json extents = behind_first(shape);
  const bool are_known = std::ranges::all_of(extents, [](const Json& one) { return one.is_number_integer(); });
  return are_known && !extents.empty() ? std::optional(std::move(extents)) : std::nullopt;
}

/// The order of an example's axes, from 1, in which two are exchanged; nullopt where one of them is the batch.
std::optional<Json> exchanged_axes(const NetworkLayer& operation, const Call& call) {
  const Json &one = at(*operation.config, "axis1"), &other = at(*operation.config, "axis2");
  const Json& shape = call.inputs.size() == 1 ? call.inputs.front().shape : Json();
  if (!one.is_number_integer() || !other.is_number_integer() || !shape.is_array()) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto counted = [&](const Json& axis) { return axis.get<std::int64_t>() + (axis < Json(0) ? rank : 0); };
  const std::int64_t a = counted(one), b = counted(other);
  if (std::min(a, b) < 1 || std::max(a, b) >= rank) return std::nullopt;
  Json axes = Json::array();
  for (std::int64_t axis = 1; axis < rank; ++axis) axes.push_back(axis == a ? b : axis == b ? a : axis);
  return axes;
}

/// Operations that are layers here, whose axes count the batch or not as Keras's layers do.
std::optional<ConvertedLayer> as_layer(const NetworkLayer& operation, const Call& call) {
  const Json& config = *operation.config;
  const auto made = [](const char* type, const char* option, Json value) {
    return ConvertedLayer{type, {{option, {}, plain_value(value)}}, {type}};
  };
  if (operation.class_name == "Flip" && at(config, "axis").is_number_integer() && call.inputs.size() == 1) {
    return made("flip", "axis", at(config, "axis"));
  }
  if (operation.class_name == "Concatenate" && at(config, "axis").is_number_integer() && call.inputs.size() > 1) {
    return made("concatenate", "axis", at(config, "axis"));
  }
  constexpr std::array<std::array<const char*, 3>, 3> kSameOptions = {
      {{"Softmax", "softmax", "axis"}, {"LeakyRelu", "leaky_relu", "negative_slope"}, {"Elu", "elu", "alpha"}}};
  for (const auto& [name, type, option] : kSameOptions) {
    if (operation.class_name == name && at(config, option).is_number() && call.inputs.size() == 1) {
      return made(type, option, at(config, option));
    }
  }
  if (operation.class_name == "Gelu" && at(config, "approximate").is_boolean()) {
    return made("activation", "activation", at(config, "approximate") == Json(true) ? "gelu_tanh" : "gelu");
  }
  if (auto extents = reshaped_extents(operation, call)) return made("reshape", "target_shape", std::move(*extents));
  if (operation.class_name == "Swapaxes") {
    if (auto axes = exchanged_axes(operation, call)) return made("permute", "dims", std::move(*axes));
  }
  const Json& shape = as_list(at(config, "newshape"));
  const bool keeps_batch = shape.is_array() && shape.size() > 1 && (shape[0].is_null() || shape[0] == Json(-1));
  if (operation.class_name == "Reshape" && keeps_batch && std::ranges::count(shape, Json(-1)) <= 1) {
    return made("reshape", "target_shape", behind_first(shape));
  }
  const Json& axes = as_list(at(config, "axes"));
  if (operation.class_name == "Transpose" && axes.is_array() && axes.size() > 1 && axes[0] == Json(0)) {
    return made("permute", "dims", behind_first(axes));
  }
  return std::nullopt;
}

}  // namespace

ConvertedLayer convert_operation(const NetworkLayer& operation, const Call& call, Problems& problems) {
  if (const auto formula = reduction_of(operation.class_name, *operation.config, call)) return expression(*formula);
  if (auto layer = as_layer(operation, call)) return std::move(*layer);
  if (operation.class_name == "Clip" && call.inputs.size() == 1) {
    const Json &least = at(*operation.config, "x_min"), &most = at(*operation.config, "x_max");
    if (least.is_number() && most.is_number()) {
      return expression(fmt::format("minimum(maximum(x, {}), {})", number_text(least), number_text(most)));
    }
  }
  if (operation.class_name == "GetItem") {
    if (const auto formula = part_of(call)) return expression(*formula);
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
