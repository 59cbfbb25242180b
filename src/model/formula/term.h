#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/ops/pointwise.h"

namespace mirrortrain::formula {

/// Where a formula's nodes go.
class Nodes {
 public:
  /// `batched`: any value with rows, of which a formula without others has its own.
  Nodes(Graph& to, ValueId batched, DType type) : graph(to), dtype(type), batched_(batched) {}

  /// A batched value of the shape [].
  ValueId rows();

  Graph& graph;
  DType dtype;  ///< of what is computed

 private:
  ValueId batched_, rows_ = kNoValue;
};

/// A value that is not computed yet: a function of the elements of values of the graph. Terms are joined without new
/// nodes until their function is as large as one node's may be.
class Term {
 public:
  /// A value of the graph.
  Term(const Graph& graph, ValueId value);
  /// A number.
  explicit Term(double number);

  /// An operation on the elements of terms whose shapes are broadcast. Throws Error where they do not fit.
  static Term of(Nodes& nodes, ops::PointwiseCode code, std::vector<Term> operands);

  /// Per row.
  const Shape& shape() const { return shape_; }
  /// The value of the graph that it is, unchanged; kNoValue where something is computed.
  ValueId value() const;
  /// Adds the node that computes it, if one is needed: batched.
  ValueId computed(Nodes& nodes) const;

 private:
  Term(Shape shape, std::vector<ValueId> inputs, ops::PointwiseFunction function)
      : shape_(std::move(shape)), inputs_(std::move(inputs)), function_(std::move(function)) {}
  /// Whether a node may have this function and still a gradient, which is larger.
  bool is_small() const;

  Shape shape_;
  std::vector<ValueId> inputs_;
  ops::PointwiseFunction function_;
};

}  // namespace mirrortrain::formula
