#pragma once

#include "graph/graph.h"

// Masks of sequences, as Keras has them: which tokens count. A mask is batched float32, 1 where a token counts and 0
// where it is padding, and of the shape of the masked value without its last axis. No gradient flows through a mask.
namespace mirrortrain::ops {

/// Input: numbers batched [...] float32. Output: their mask, of the same shape: a number of 0 is padding.
struct PaddingMask : Op {
  std::string_view name() const override { return "padding_mask"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// Input: class numbers batched [...] int32. Output: their mask, of the same shape: `ignored` does not count.
struct LabelMask : Op {
  std::int32_t ignored;
  explicit LabelMask(std::int32_t label) : ignored(label) {}
  std::string_view name() const override { return "label_mask"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// Input: anything batched. Output: a mask of `shape` where every token counts.
struct FullMask : Op {
  Shape shape;
  explicit FullMask(Shape of) : shape(std::move(of)) {}
  std::string_view name() const override { return "full_mask"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// What two masks count; each is of the first axes of the other, or kNoValue, which counts everything.
ValueId both_masks(Graph& graph, ValueId one, ValueId other);

/// Input: a mask. Output: float64 [], how many tokens of all rows count.
struct MaskCount : Op {
  std::string_view name() const override { return "mask_count"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// The mean over the time steps that count, NaN where none does.
/// Inputs: x batched [steps, channels] float32 or bfloat16; its mask [steps]. Output: batched [channels] in x's dtype.
struct MaskedMean : Op {
  std::string_view name() const override { return "masked_mean"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: gradient of MaskedMean's output; the mask. Output: gradient of x, batched [steps, channels].
struct MaskedMeanGradient : Op {
  std::string_view name() const override { return "masked_mean_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

/// Selects one of two values at each position. Inputs: a mask [...]; the value where the mask is 1, batched [...,
/// channels] float32 or bfloat16; the value elsewhere, of the same spec. One of the two may be kNoValue: `fill` is used
/// in its place. Output: that spec.
struct Select : Op {
  float fill;
  explicit Select(float otherwise = 0) : fill(otherwise) {}
  std::string_view name() const override { return "select"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Whether `mask` masks every token of a sequence of zeros, because it is derived from PaddingMasks only.
bool is_of_padding(const Graph& graph, ValueId mask);

/// The numbers whose PaddingMasks such a mask is derived from, each once.
std::vector<ValueId> padded_numbers(const Graph& graph, ValueId mask);

/// Throws Error unless `spec` is a mask of `shape`, or absent where it may be.
void expect_mask(std::string_view op, const Shape& shape, const ValueSpec& spec, bool may_be_absent = false);

}  // namespace mirrortrain::ops
