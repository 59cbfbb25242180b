#pragma once

#include <optional>
#include <span>

#include "model/initializers.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"
#include "model/regularizer.h"

namespace mirrortrain::layers {

/// query [steps, channels], value [source steps, its own channels] or the query -> [steps, channels]: projections of
/// the query to num_heads queries of key_dim and of the value to as many keys and values of value_dim, attention of
/// each head, and a projection of all heads' outputs back to the query's channels. Variables, each kernel and bias:
/// query [channels, num_heads, key_dim], key, value [..., value_dim], attention_output [num_heads, value_dim,
/// channels]. A masked step of the query attends to nothing, and a masked step of the value is not attended to; the
/// output has the query's mask.
struct MultiHeadAttention : LayerCommon {
  static constexpr std::string_view kName = "multi_head_attention";
  static constexpr Masking kMasking = Masking::kOwn;
  static constexpr std::size_t kMostInputs = 2;
  std::int64_t num_heads = 1, key_dim = 1;
  std::optional<std::int64_t> value_dim;
  double dropout = 0;
  bool use_bias = true, use_causal_mask = false;
  Initializer kernel_initializer = initializers::GlorotUniform{};
  Initializer bias_initializer = initializers::Zeros{};
  std::optional<Regularizer> kernel_regularizer, bias_regularizer;

  static config::Section<MultiHeadAttention> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;

 private:
  ValueId project(LayerBuilder& builder, std::string_view to, ValueId x, std::int64_t dim) const;
};

}  // namespace mirrortrain::layers
