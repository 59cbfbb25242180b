#pragma once

#include <vector>

#include "graph/graph.h"

namespace mirrortrain::ops {

/// Looks up rows of a table by index.
/// Inputs: numbers batched [...] float32, whole and from 0 to input_dim - 1; table [input_dim, output_dim] float32.
/// Output: batched [..., output_dim] in `dtype`; a number beyond the table gives a row of NaN. If the table is a part
/// of a larger one, numbers are those of the larger one, and rows of its other parts are zeros.
struct Embedding : Op {
  DType dtype;
  std::int64_t first_row = 0, all_rows = 0;  ///< of the larger table; 0 rows: there is none
  explicit Embedding(DType of_output) : dtype(of_output) {}
  std::string_view name() const override { return "embedding"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: numbers; gradient of the output. Output: gradient of the table [input_dim, output_dim] float32, the terms of
/// each row added in order. Numbers beyond the table have no part in it.
struct EmbeddingGradient : Op {
  std::int64_t input_dim;
  std::int64_t first_row = 0;  ///< the table's first number
  explicit EmbeddingGradient(std::int64_t rows_of_table, std::int64_t first = 0)
      : input_dim(rows_of_table), first_row(first) {}
  std::string_view name() const override { return "embedding_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// One of the terms of a table's gradient.
struct LookupTerm {
  ValueId numbers = kNoValue, dy = kNoValue;  ///< the inputs of EmbeddingGradient
};

/// The terms of a table's gradient, in the order in which they are added one after the other; empty if it has others
/// than lookups in the whole table.
std::vector<LookupTerm> lookup_terms(const Graph& graph, ValueId gradient);

}  // namespace mirrortrain::ops
