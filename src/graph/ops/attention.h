#pragma once

#include "graph/graph.h"

namespace mirrortrain::ops {

/// Dropout of the weights: element (head, step, source step) of a row's weights uses element (head * steps + step) *
/// (source steps rounded up to 4) + source step of Dropout's mask with this stream.
struct AttentionAttributes {
  std::int64_t heads = 1;
  float scale = 1;      ///< of the scores
  bool causal = false;  ///< a step does not attend to later source steps
  /// A step attends to fewer than this many source steps before and behind its own number; 0: to all.
  std::int64_t window = 0;
  float dropout = 0;  ///< rate, only in training graphs
  std::uint32_t stream = 0;
  std::int64_t first_head = 0;  ///< number of the first one among all heads, for dropout, where they are a part of them
  /// What a step attends to if everything is masked: all source steps equally, regardless of the masks; or none, so
  /// that its output is zero. Keras does the first in its fused attention, the second where it computes the weights.
  bool blind_sees_all = true;
};

/// Scaled dot-product attention of each head independently (Vaswani et al., 2017): softmax(scale query · keyᵀ) · value
/// along the source steps. The weights are never stored as a whole but computed in blocks, with a running maximum and
/// sum (Dao et al., 2022), so memory is linear in the steps.
/// Inputs: query batched [steps, heads size]; key batched [source steps, heads size]; value batched [source steps,
/// heads value size]; one dtype, float32 or bfloat16; masks (mask.h) of the query [steps] and of the value [source
/// steps], each or absent: a masked query step attends to nothing, and a masked source step is not attended to.
/// Outputs: batched [steps, heads value size] in the first dtype; the logarithm of the sum of the scores' exponentials,
/// batched [heads, steps] float32, 0 where there are none.
struct Attention : Op, AttentionAttributes {
  explicit Attention(const AttentionAttributes& attributes) : AttentionAttributes(attributes) {}
  std::string_view name() const override { return "attention"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
  std::vector<ValueId> gradient(Graph&, const Node&, std::span<const ValueId>, const std::vector<bool>&) const override;
};

/// Inputs: query; key; value; Attention's two outputs; gradient of the first; the masks of query and value, each or
/// absent. Outputs: gradients of query, key, value.
struct AttentionGradient : Op, AttentionAttributes {
  explicit AttentionGradient(const AttentionAttributes& attributes) : AttentionAttributes(attributes) {}
  std::string_view name() const override { return "attention_gradient"; }
  std::vector<ValueSpec> infer(std::span<const ValueSpec> inputs) const override;
};

}  // namespace mirrortrain::ops
