#include "onnx/onnx_model.h"

#include <algorithm>

namespace mirrortrain::onnx {
namespace {

template <class T>
Tensor tensor_of(ElementType type, Ints dims, std::span<const T> values) {
  return {type, std::move(dims), {reinterpret_cast<const char*>(values.data()), values.size_bytes()}};
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

}  // namespace mirrortrain::onnx
