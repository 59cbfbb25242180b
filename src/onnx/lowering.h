#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "graph/graph.h"
#include "onnx/builder.h"

namespace mirrortrain::onnx {

/// An op, or options of it, that ONNX has no operators for; what() is the reason.
class NotInOnnx : public Error {
 public:
  using Error::Error;
};

/// The values of a graph, as they become those of an ONNX graph. Batched values have the rows as their first axis.
/// Images and volumes, batched values of three or four axes per row, may be there with the channels last, as in this
/// program's graphs, or with the channels first, as ONNX's convolutions take them: each is made of the other where it
/// is asked for, so that between two convolutions nothing is transposed.
class Lowering {
 public:
  /// `rows_of`: a value of the ONNX graph with the rows as its first axis.
  Lowering(const mirrortrain::Graph& graph, Builder& builder, std::string rows_of);

  const mirrortrain::Graph& graph() const { return graph_; }
  Builder& builder() { return builder_; }
  const ValueSpec& spec(ValueId id) const { return graph_.spec(id); }

  /// The name of a value, channels last; empty for kNoValue. Throws NotInOnnx where no node has given it.
  std::string value(ValueId id);
  std::string channels_first(ValueId id);
  /// Whether the value was made with the channels first.
  bool is_channels_first(ValueId id) const;

  void set(ValueId id, std::string name);
  void set_channels_first(ValueId id, std::string name);
  void set(ValueId id, std::string name, bool with_channels_first);

  /// An op of single elements, in the form that the input has.
  void set_elementwise(const mirrortrain::Node& node, const std::function<std::string(const std::string&)>& apply);

  /// The axis of the ONNX value for an axis of the shape per row.
  std::int64_t axis(ValueId id, std::size_t per_row) const;
  Ints axes(ValueId id, const std::vector<std::size_t>& per_row) const;
  /// The value's shape for Reshape, whose first extent is that of the input.
  Ints reshape_target(const ValueSpec& spec) const;
  /// The number of rows, int64 [1].
  const std::string& rows();
  /// float32 [rows, ...] of one number.
  std::string filled(const Shape& row_shape, float number);

 private:
  struct Forms {
    std::string last, first;
    bool made_first = false;
  };
  Forms& forms_of(ValueId id);

  const mirrortrain::Graph& graph_;
  Builder& builder_;
  std::string rows_of_, rows_;
  std::vector<Forms> forms_;
};

/// Whether a value may have its channels first.
bool has_channels(const ValueSpec& spec);
/// The permutations between both forms of a value with so many axes, rows included.
Ints to_channels_first(std::size_t axes);
Ints to_channels_last(std::size_t axes);

}  // namespace mirrortrain::onnx
