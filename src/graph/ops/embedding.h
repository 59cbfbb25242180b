#pragma once

#include "graph/graph.h"

namespace mirrortrain::ops {

/// Looks up rows of a table by index.
/// Inputs: numbers batched [...] float32, whole and from 0 to input_dim - 1; table [input_dim, output_dim] float32.
/// Output: batched [..., output_dim] in `dtype`; a number beyond the table gives a row of NaN.
struct Embedding : Op {
  DType dtype;
  explicit Embedding(DType of_output) : dtype(of_output) {}
  std::string_view name() const override { return "embedding"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: numbers; gradient of the output. Output: gradient of the table [input_dim, output_dim] float32, the terms of
/// each row added in order.
struct EmbeddingGradient : Op {
  std::int64_t input_dim;
  explicit EmbeddingGradient(std::int64_t rows_of_table) : input_dim(rows_of_table) {}
  std::string_view name() const override { return "embedding_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

}  // namespace mirrortrain::ops
