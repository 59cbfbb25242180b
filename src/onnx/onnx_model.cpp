#include "onnx/onnx_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>

namespace mirrortrain::onnx {
namespace {

template <class T>
Tensor tensor_of(ElementType type, Ints dims, std::span<const T> values) {
  return {type, std::move(dims), {reinterpret_cast<const char*>(values.data()), values.size_bytes()}};
}

std::string type_text(ElementType type) {
  switch (type) {
    case ElementType::kFloat: return "float";
    case ElementType::kInt32: return "int32";
    case ElementType::kInt64: return "int64";
    case ElementType::kString: return "string";
    case ElementType::kBool: return "bool";
    case ElementType::kDouble: break;
  }
  return "double";
}

std::string text_of(const ValueInfo& value) {
  std::vector<std::string> dims;
  for (const auto& dim : value.dims) {
    std::visit([&](const auto& extent) { dims.push_back(fmt::format("{}", extent)); }, dim);
  }
  return fmt::format("{}: {} [{}]", value.name, type_text(value.type), fmt::join(dims, ", "));
}

std::string text_of(const Attribute& attribute) {
  return std::visit(
      [](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, Tensor>) {
          return fmt::format("{} [{}]", type_text(held.type), fmt::join(held.dims, ", "));
        } else if constexpr (std::is_same_v<Held, std::shared_ptr<const Graph>>) {
          std::string text = "{\n" + to_text(*held) + "}";
          for (std::size_t at = 0; (at = text.find('\n', at)) != text.npos; at += 3) text.insert(at + 1, "  ");
          return text;
        } else if constexpr (std::is_arithmetic_v<Held> || std::is_same_v<Held, std::string>) {
          return fmt::format("{}", held);
        } else {
          return fmt::format("[{}]", fmt::join(held, ", "));
        }
      },
      attribute);
}

std::string text_of(const Node& node) {
  std::vector<std::string> attributes;
  for (const auto& [name, value] : node.attributes) attributes.push_back(name + "=" + text_of(value));
  const std::string options = attributes.empty() ? "" : fmt::format(" {{{}}}", fmt::join(attributes, ", "));
  return fmt::format("{} = {}{}({}){}", fmt::join(node.outputs, ", "), node.domain.empty() ? "" : node.domain + ".",
                     node.op_type, fmt::join(node.inputs, ", "), options);
}

}  // namespace

Tensor floats(Ints dims, std::span<const float> values) {
  return tensor_of(ElementType::kFloat, std::move(dims), values);
}
Tensor doubles(Ints dims, std::span<const double> values) {
  return tensor_of(ElementType::kDouble, std::move(dims), values);
}
Tensor integers(Ints dims, std::span<const std::int64_t> values) {
  return tensor_of(ElementType::kInt64, std::move(dims), values);
}
Tensor booleans(Ints dims, const std::vector<bool>& values) {
  Tensor made{ElementType::kBool, std::move(dims), {}};
  for (const bool value : values) made.bytes.push_back(value ? '\1' : '\0');
  return made;
}

bool uses_ml(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    return node.domain == kMlDomain || std::ranges::any_of(node.attributes, [](const auto& attribute) {
             const auto* const inner = std::get_if<std::shared_ptr<const Graph>>(&attribute.second);
             return inner != nullptr && uses_ml(**inner);
           });
  });
}

std::string to_text(const Graph& graph) {
  std::string text;
  for (const ValueInfo& input : graph.inputs) text += fmt::format("input {}\n", text_of(input));
  for (const auto& [name, tensor] : graph.initializers) {
    text += fmt::format("{} = {} [{}]\n", name, type_text(tensor.type), fmt::join(tensor.dims, ", "));
  }
  for (const Node& node : graph.nodes) text += text_of(node) + "\n";
  for (const ValueInfo& output : graph.outputs) text += fmt::format("output {}\n", text_of(output));
  return text;
}

}  // namespace mirrortrain::onnx
