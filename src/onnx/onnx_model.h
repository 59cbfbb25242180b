#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace mirrortrain::onnx {

// A model in the Open Neural Network Exchange format, independent of how files store it (onnx_file.h). Names are those
// of https://onnx.ai/onnx/intro/concepts.html.

/// Types of elements, with their numbers in files.
enum class ElementType : std::int32_t { kFloat = 1, kInt32 = 6, kInt64 = 7, kString = 8, kBool = 9, kDouble = 11 };

using Ints = std::vector<std::int64_t>;

/// A constant; `bytes` are its elements, row-major, little-endian.
struct Tensor {
  ElementType type = ElementType::kFloat;
  Ints dims;
  std::string bytes;
  friend bool operator==(const Tensor&, const Tensor&) = default;
};

Tensor floats(Ints dims, std::span<const float> values);
Tensor doubles(Ints dims, std::span<const double> values);
Tensor integers(Ints dims, std::span<const std::int64_t> values);
Tensor booleans(Ints dims, const std::vector<bool>& values);

struct Graph;
using Attribute = std::variant<std::int64_t, float, std::string, Ints, std::vector<float>, std::vector<std::string>,
                               Tensor, std::shared_ptr<const Graph>>;
using Attributes = std::vector<std::pair<std::string, Attribute>>;

struct Node {
  std::string name, op_type, domain;  ///< the domain is empty for the operators of ai.onnx
  std::vector<std::string> inputs;    ///< empty names for optional inputs that are absent
  std::vector<std::string> outputs;
  Attributes attributes;
};

/// An input or output. An extent is a number, or a name where it may be any, such as "batch".
struct ValueInfo {
  std::string name;
  ElementType type = ElementType::kFloat;
  std::vector<std::variant<std::int64_t, std::string>> dims;
};

/// Nodes in an order in which each comes after its inputs.
struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<std::pair<std::string, Tensor>> initializers;
  std::vector<ValueInfo> inputs, outputs;
};

inline constexpr std::int64_t kOpset = 17;   ///< of ai.onnx
inline constexpr std::int64_t kMlOpset = 3;  ///< of ai.onnx.ml
inline constexpr char kMlDomain[] = "ai.onnx.ml";

struct Model {
  Graph graph;
  std::string producer_version;
  std::map<std::string, std::string> metadata{};
};

/// Whether a node, or one of a node's graph, is of ai.onnx.ml.
bool uses_ml(const Graph& graph);

}  // namespace mirrortrain::onnx
