#pragma once

#include "graph/graph.h"

namespace mirrortrain::ops {

/// Zero padding of each row: `before` and `after` elements along each of its axes.
/// Input: [...] float32 or bfloat16, batched or one tensor without rows. Output: every axis longer by before + after.
struct Pad : Op {
  std::vector<std::int64_t> before, after;
  Pad(std::vector<std::int64_t> first, std::vector<std::int64_t> last)
      : before(std::move(first)), after(std::move(last)) {}
  std::string_view name() const override { return "pad"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Each row without `before` elements at the start and `after` at the end of each axis: the inverse of Pad.
struct Crop : Op {
  std::vector<std::int64_t> before, after;
  Crop(std::vector<std::int64_t> first, std::vector<std::int64_t> last)
      : before(std::move(first)), after(std::move(last)) {}
  std::string_view name() const override { return "crop"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// The first `rows` along the first axis of one tensor without rows, [all, ...].
struct FirstRows : Op {
  std::int64_t rows;
  explicit FirstRows(std::int64_t count) : rows(count) {}
  std::string_view name() const override { return "first_rows"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
  bool is_alias() const override { return true; }
};

/// Concatenates the rows' tensors along `axis`, which does not count the batch.
/// Inputs: batched, of one dtype, equal in all other axes.
struct Concatenate : Op {
  std::size_t axis;
  explicit Concatenate(std::size_t along) : axis(along) {}
  std::string_view name() const override { return "concatenate"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Axis i of the output is axis `axes[i]` of the input, both without the batch.
struct Transpose : Op {
  std::vector<std::size_t> axes;
  explicit Transpose(std::vector<std::size_t> order) : axes(std::move(order)) {}
  std::string_view name() const override { return "transpose"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Reverses the elements of each row along `axis`, which does not count the batch.
struct Flip : Op {
  std::size_t axis;
  explicit Flip(std::size_t along) : axis(along) {}
  std::string_view name() const override { return "flip"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

}  // namespace mirrortrain::ops
