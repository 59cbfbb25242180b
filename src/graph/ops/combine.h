#pragma once

#include <optional>

#include "graph/graph.h"

namespace mirrortrain::ops {

enum class CombineKind : std::uint8_t { kAdd, kMultiply, kMaximum, kMinimum };

/// An elementwise operation on two tensors, each broadcast along the axes where it has one element and the other more.
/// Inputs: a batched [...] float32 or bfloat16; b of as many axes per row, batched in a's dtype or unbatched float32.
/// Output: batched, in a's dtype. Where both are equal, the gradient of the maximum
/// or minimum goes to a.
struct Combine : Op {
  CombineKind kind;
  explicit Combine(CombineKind k) : kind(k) {}
  std::string_view name() const override;
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: gradient of Combine's maximum or minimum (`kind`); its a; its b. Output: the gradient where `of_first` says
/// that a (or else b) is the one chosen, 0 elsewhere; spec as the gradient.
struct ChoiceGradient : Op {
  CombineKind kind;
  bool of_first;
  ChoiceGradient(CombineKind which, bool first) : kind(which), of_first(first) {}
  std::string_view name() const override { return "choice_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// The sum over the axes where `target` has one element and x more, and over the rows where not `per_row`.
/// Input: x, batched; or unbatched float32 where not `per_row`. Output: `target`, of as many axes: batched in x's
/// dtype, or unbatched float32.
struct SumTo : Op {
  Shape target;
  bool per_row;
  SumTo(Shape shape, bool each_row) : target(std::move(shape)), per_row(each_row) {}
  std::string_view name() const override { return "sum_to"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// The largest element over the axes where `target` has one and x more. Its gradient is shared by all that are as
/// large, or, where it is not `differentiated`, none flows. Input: x batched. Output: `target`, of as many axes,
/// batched in x's dtype.
struct MaxTo : Op {
  Shape target;
  bool differentiated;
  explicit MaxTo(Shape shape, bool with_gradient = true) : target(std::move(shape)), differentiated(with_gradient) {}
  std::string_view name() const override { return "max_to"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// factor x; any shape, float32 or bfloat16.
struct Scale : Op {
  float factor;
  explicit Scale(float by) : factor(by) {}
  std::string_view name() const override { return "scale"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
  bool may_overwrite(std::size_t) const override { return true; }
};

/// With leading axes of 1, so that it has `rank` axes.
Shape with_rank(const Shape& shape, std::size_t rank);
/// The shape that two shapes, aligned at their last axes, are broadcast to; nullopt if they are incompatible.
std::optional<Shape> common_shape(const Shape& a, const Shape& b);
/// The same for shapes of equal rank. Throws Error if they are incompatible.
Shape stretched(std::string_view op, const Shape& a, const Shape& b);

}  // namespace mirrortrain::ops
