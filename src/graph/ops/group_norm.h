#pragma once

#include "graph/graph.h"

namespace mirrortrain::ops {

/// The elements normalized together: a group of neighbouring channels, over all positions of a row (group
/// normalization) or, with `by_position`, of each position separately (layer normalization, in one group).
struct GroupNormAttributes {
  std::int64_t groups = 1;
  bool by_position = false;
  float epsilon = 1e-3f;
};

/// (x - mean) / sqrt(variance + epsilon) gamma + beta, with the biased variance.
/// Inputs: x batched [..., channels] float32 or bfloat16; gamma [channels] or absent; beta [channels] or absent; both
/// float32. Outputs: y as x; mean and inverse standard deviation of each normalized set, batched [groups] or [positions
/// groups], float32.
struct GroupNorm : Op, GroupNormAttributes {
  explicit GroupNorm(const GroupNormAttributes& attributes) : GroupNormAttributes(attributes) {}
  std::string_view name() const override { return by_position ? "layer_norm" : "group_norm"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: x; gradient of y; gamma or absent; mean; inverse standard deviation.
/// Outputs: gradient of x; gradient of gamma [channels] float32; gradient of beta [channels] float32.
struct GroupNormGradient : Op, GroupNormAttributes {
  explicit GroupNormGradient(const GroupNormAttributes& attributes) : GroupNormAttributes(attributes) {}
  std::string_view name() const override { return by_position ? "layer_norm_gradient" : "group_norm_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

}  // namespace mirrortrain::ops
