#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "graph/ops/dense.h"

namespace mirrortrain::cuda {

/// The graph with wide logits whose rows would begin anywhere, as those over 50,257 tokens, in rows of whole 16 bytes:
/// from the matrix multiplication that makes them through the loss to those that read their gradient, if nothing
/// else reads them. LossWithMetric says how many of a row's elements count; those behind are undefined.
Graph merge_logits(const Graph& graph, const std::vector<ValueId>& outputs);

/// A dense layer's op of one tensor whose rows are longer than the kernel says: input `padded`, or output 0.
template <class DenseOp>
struct OfPaddedRows : DenseOp {
  static constexpr int kOutput = -1;

  int padded;
  std::int64_t columns;  ///< of the padded tensor's rows: those that count
  OfPaddedRows(const DenseOp& op, int which, std::int64_t count) : DenseOp(op), padded(which), columns(count) {}
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

}  // namespace mirrortrain::cuda
