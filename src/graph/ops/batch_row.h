#pragma once

#include "graph/graph.h"

namespace mirrortrain::ops {

/// Where each row is in the global batch: 1 at its number there, 0 elsewhere. Its products with what rows have, added
/// over all replicas, give each replica the whole batch.
/// Input: anything batched. Output: batched [rows] float32.
struct BatchRow : Op {
  std::int64_t rows;  ///< the most of a global batch
  explicit BatchRow(std::int64_t of_batch) : rows(of_batch) {}
  std::string_view name() const override { return "batch_row"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

}  // namespace mirrortrain::ops
