#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "graph/ops/dense.h"

namespace mirrortrain::cuda {

/// The graph with wide logits whose rows would begin anywhere, as those over 50,257 tokens, in rows of whole 16 bytes:
/// from the matrix multiplication that makes them through the loss, and perhaps the accuracy, to those that read their
/// gradient. LossWithMetric and LossOfLogits say how many of a row's elements count; those behind are undefined. What
/// else reads the logits, as other metrics, gets a compact copy: of the cast to float32, if that is what it reads.
Graph merge_logits(const Graph& graph, const std::vector<ValueId>& outputs);

/// The first `columns` elements of each row, in rows of just these.
/// Input: batched [..., more than `columns`] float32 or bfloat16. Output: batched [..., columns] in `to`.
struct CompactRows : Op {
  std::int64_t columns;
  DType to;
  CompactRows(std::int64_t count, DType dtype) : columns(count), to(dtype) {}
  std::string_view name() const override { return "compact_rows"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

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
