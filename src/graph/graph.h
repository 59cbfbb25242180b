#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"

namespace mirrortrain {

class Graph;
struct Node;

/// Names a value in its graph: an input, a variable or an output of a node. kNoValue where there is none.
using ValueId = std::int32_t;
using NodeId = std::int32_t;
inline constexpr ValueId kNoValue = -1;
/// Its index in arrays with one element per value or node.
inline std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }

/// A value's type and shape. The number of rows is not known in a graph: a batched value has `shape` per row, and a
/// program, which is a graph at one number of rows, puts the rows in front.
struct ValueSpec {
  DType dtype = DType::kFloat32;
  Shape shape;
  bool batched = false;

  Shape shape_at(std::int64_t rows) const { return batched ? shape.with_rows(rows) : shape; }
  std::size_t bytes_at(std::int64_t rows) const {
    return static_cast<std::size_t>(shape_at(rows).elements()) * size_of(dtype);
  }
  friend bool operator==(const ValueSpec&, const ValueSpec&) = default;
};

/// An operation with its attributes (public members of the derived class). One class per operation, in `graph/ops`; a
/// backend maps the class to a kernel. Ops never write their inputs, except as may_overwrite allows.
class Op {
 public:
  virtual ~Op() = default;

  /// snake_case: "conv2d_input_gradient".
  virtual std::string_view name() const = 0;

  /// The specs of the outputs. An absent optional input has the shape [0]. Throws Error with the shapes if the inputs
  /// do not match.
  virtual std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const = 0;

  /// Adds the nodes that give the gradient with respect to each input, given that of each output (kNoValue: zero).
  /// Returns one value per input, kNoValue where no gradient flows. `wanted[i]` says whether input i's gradient is
  /// needed. The default throws: an op without a gradient.
  virtual std::vector<ValueId> gradient(Graph& graph, const Node& node, std::span<const ValueId> output_gradients,
                                        const std::vector<bool>& wanted) const;

  /// The outputs whose value is input 0's bytes unchanged (reshape), or the first of them: no kernel runs, storage is
  /// shared.
  virtual bool is_alias() const { return false; }

  /// Whether it is computed from the inputs of several places, between a program's segments (graph/ops/collective.h).
  virtual bool is_collective() const { return false; }

  /// Whether output 0 may share the storage of this input if both have the same number of bytes and the input is not
  /// read later. True only where every kernel reads element i of all inputs before it writes element i of the output;
  /// other inputs may be that same storage too.
  virtual bool may_overwrite(std::size_t /*input*/) const { return false; }
};

struct Node {
  std::shared_ptr<const Op> op;
  std::vector<ValueId> inputs;  ///< kNoValue for an optional input that is absent
  std::vector<ValueId> outputs;
  std::string layer;  ///< the layer it came from, for messages and random streams
};

/// A tensor that outlives the step. Its master is float32.
struct VariableSpec {
  std::string name;  ///< "stem/kernel"
  Shape shape;
  bool trainable = true;
};

/// Values and the nodes that compute them, in an order in which each node comes after its inputs. Knows no device and
/// no number of rows.
class Graph {
 public:
  enum class Source { kInput, kVariable, kNode };
  struct Value {
    ValueSpec spec;
    Source source;
    NodeId producer = -1;  ///< for kNode
    int output = 0;        ///< which output of the producer
    std::string name;      ///< for kInput and kVariable
  };

  ValueId input(std::string name, ValueSpec spec);
  ValueId variable(const VariableSpec& spec);

  /// Appends a node; returns its outputs. Throws what `infer` throws, and Error for outputs that no memory can hold.
  std::vector<ValueId> apply(std::shared_ptr<const Op> op, std::vector<ValueId> inputs);
  template <class OpType>
  std::vector<ValueId> apply(OpType op, std::vector<ValueId> inputs) {
    return apply(std::shared_ptr<const Op>(std::make_shared<const OpType>(std::move(op))), std::move(inputs));
  }
  /// As `apply`, returning only the first output.
  template <class OpType>
  ValueId apply_one(OpType op, std::vector<ValueId> inputs) {
    return apply(std::move(op), std::move(inputs)).front();
  }

  /// Whether `value` depends on the rows of the replica, other than through collectives over replicas.
  bool depends_on_rows(ValueId value) const;

  /// The same values, computed by other nodes, such as fewer fused ones for a backend. Values that no node computes any
  /// more keep their specs and must not be read.
  Graph with_nodes(std::vector<Node> nodes) const;
  /// The same graph with another dtype for an input.
  Graph with_input(ValueId input, DType dtype) const;

  const Value& value(ValueId id) const { return values_[static_cast<std::size_t>(id)]; }
  const ValueSpec& spec(ValueId id) const { return value(id).spec; }
  const std::vector<Value>& values() const { return values_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& node(NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }

  /// Nodes applied from now on carry this layer name.
  void set_layer(std::string layer) { layer_ = std::move(layer); }
  const std::string& layer() const { return layer_; }

 private:
  std::vector<Value> values_;
  std::vector<Node> nodes_;
  std::string layer_;
};

/// Whether two graphs have the same values and nodes, by their ids, and differ in shapes at most.
bool same_but_for_shapes(const Graph& a, const Graph& b);

}  // namespace mirrortrain
