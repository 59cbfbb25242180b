#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "onnx/onnx_model.h"

namespace mirrortrain::onnx {

/// Adds nodes and constants to a graph and names them: "dense/MatMul", by the scope, which is a layer. Equal ones are
/// one, and two transpositions or reversals that undo each other none. Names are unique in a graph and those inside its
/// nodes.
class Builder {
 public:
  explicit Builder(std::string name);

  /// For the graph of a node, such as Scan's body: it may read values of this one.
  Builder inner(std::string name);

  void set_scope(std::string scope) { scope_ = std::move(scope); }

  /// A new name; `wanted` itself if it is not taken.
  std::string unique(const std::string& wanted);

  void add_input(ValueInfo info);
  void add_output(ValueInfo info) { graph_.outputs.push_back(std::move(info)); }

  /// A node with one output, whose name it returns. An input without a name is absent.
  std::string add(const std::string& op_type, std::vector<std::string> inputs, Attributes attributes = {},
                  const std::string& domain = "");
  /// A node with so many outputs.
  std::vector<std::string> add_many(const std::string& op_type, std::vector<std::string> inputs, std::size_t outputs,
                                    Attributes attributes = {}, const std::string& domain = "");
  /// Gives a value a name of its own, which must be unique. What reads it after that, too, uses the old one.
  void name_output(const std::string& value, const std::string& name);

  std::string constant(const Tensor& tensor);
  std::string number(float value) { return constant(floats({}, {&value, 1})); }
  std::string vector(const Ints& values);
  /// A weight, under its own name.
  void add_initializer(const std::string& name, Tensor tensor);

  // Operators that are needed everywhere. Axes count the batch.
  std::string transpose(const std::string& value, const Ints& permutation);
  std::string reversed(const std::string& value, std::int64_t axis);
  std::string reshape(const std::string& value, const Ints& shape);
  std::string unsqueeze(const std::string& value, const Ints& axes);
  std::string squeeze(const std::string& value, const Ints& axes);
  std::string sum(const std::string& value, const Ints& axes, bool keeps_axes);
  /// Elements [starts, ends) along `axes`.
  std::string slice(const std::string& value, const Ints& starts, const Ints& ends, const Ints& axes);
  std::string cast(const std::string& value, ElementType to);

  /// The graph without nodes and constants that no output depends on. The builder is then spent.
  Graph take();

 private:
  void name_at_once();

  Graph graph_;
  std::string scope_;
  std::shared_ptr<std::map<std::string, int>> names_;         ///< each with the last number that others have behind it
  std::map<std::string, std::vector<std::size_t>> nodes_of_;  ///< by operator and inputs
  std::set<std::string> named_;                               ///< by name_output
  std::map<std::string, std::string> constants_;              ///< by type, shape and bytes
  /// What a value was made of, and how: "Transpose 0 2 1".
  std::map<std::string, std::pair<std::string, std::string>> made_of_;
};

}  // namespace mirrortrain::onnx
