#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "model/constraint.h"
#include "model/initializers.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"
#include "model/regularizer.h"

namespace mirrortrain::layers {

/// query [steps, channels], value [source steps, its own channels] or the query, key or the value -> [steps, channels]:
/// projections of the query to num_heads queries of key_dim, of the key to as many keys and of the value to values of
/// value_dim, attention of each head, and a projection of all heads' outputs to output_shape or back to the query's
/// channels. Variables, each kernel and bias:
/// query [channels, num_heads, key_dim], key, value [..., value_dim], attention_output [num_heads, value_dim,
/// channels], and gate as query, with values' size, with use_gate. A masked step of the query attends to nothing, and a
/// masked step of the value is not attended to; the output has the query's mask.
struct MultiHeadAttention : LayerCommon {
  static constexpr std::string_view kName = "multi_head_attention";
  static constexpr Masking kMasking = Masking::kOwn;
  static constexpr std::string_view kAliases = "mha";
  static constexpr std::size_t kMostInputs = 3;
  std::int64_t num_heads = 1, key_dim = 1;
  std::optional<std::int64_t> value_dim, output_shape;
  double dropout = 0;
  bool use_bias = true, use_causal_mask = false, use_gate = false;
  std::optional<double> rope_max_wavelength;
  Initializer kernel_initializer = initializers::GlorotUniform{};
  Initializer bias_initializer = initializers::Zeros{};
  std::optional<Regularizer> kernel_regularizer, bias_regularizer;
  std::optional<Constraint> kernel_constraint, bias_constraint;

  static config::Section<MultiHeadAttention> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// Attention without projections: query [steps, channels], value [source steps, size], and key [source steps,
/// channels], by default the value -> [steps, size]. A masked source step is not attended to, and the output is 0 at
/// masked steps of the query, whose mask it has.
struct AttentionOptions : LayerCommon {
  static constexpr Masking kMasking = Masking::kOwn;
  static constexpr std::size_t kFewestInputs = 2, kMostInputs = 3;
  float dropout = 0;
  bool use_causal_mask = false;

  static config::Section<AttentionOptions> section();

 protected:
  /// The weighted sums of the value, from the scores [steps, source steps].
  ValueId attend(LayerBuilder& builder, std::span<const ValueId> sources, ValueId scores) const;
  /// 0 at the query's masked steps; the output has its mask.
  ValueId masked_output(LayerBuilder& builder, ValueId output) const;
};

enum class ScoreMode : std::uint8_t { kDot, kConcat };

/// Scores are dot products of query and key (Luong et al., 2015), or sums of tanh(query + key); variables scale [] with
/// use_scale, concat_score_weight [] for the sums.
struct Attention : AttentionOptions {
  static constexpr std::string_view kName = "attention";
  static constexpr std::string_view kAliases = "dot_product_attention, luong_attention";
  bool use_scale = false;
  ScoreMode score_mode = ScoreMode::kDot;

  static config::Section<Attention> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// Scores are sums of scale tanh(query + key) over the channels (Bahdanau et al., 2015); variable scale [channels] with
/// use_scale.
struct AdditiveAttention : AttentionOptions {
  static constexpr std::string_view kName = "additive_attention";
  static constexpr std::string_view kAliases = "bahdanau_attention";
  bool use_scale = true;

  static config::Section<AdditiveAttention> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// Multi-head attention in which groups of query heads share keys and values (Ainslie et al., 2023): query [steps,
/// channels], value and key [source steps, their own channels], by default the query and the value -> [steps,
/// channels]. Variables, each kernel and bias: query [channels, num_query_heads, head_dim], key, value [...,
/// num_key_value_heads, head_dim], gate as query with use_gate, attention_output [num_query_heads, head_dim,
/// channels].
struct GroupQueryAttention : LayerCommon {
  static constexpr std::string_view kName = "group_query_attention";
  static constexpr std::string_view kAliases = "grouped_query_attention, gqa";
  static constexpr Masking kMasking = Masking::kOwn;
  static constexpr std::size_t kMostInputs = 3;
  std::int64_t head_dim = 1, num_query_heads = 1, num_key_value_heads = 1;
  float dropout = 0;
  bool use_bias = true, use_causal_mask = false, use_gate = false;
  std::optional<double> rope_max_wavelength;
  Initializer kernel_initializer = initializers::GlorotUniform{};
  Initializer bias_initializer = initializers::Zeros{};
  std::optional<Regularizer> kernel_regularizer, bias_regularizer;
  std::optional<Constraint> kernel_constraint, bias_constraint;

  static config::Section<GroupQueryAttention> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers

template <>
struct mirrortrain::config::EnumNames<mirrortrain::layers::ScoreMode> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::layers::ScoreMode>>({
      {"dot", mirrortrain::layers::ScoreMode::kDot},
      {"concat", mirrortrain::layers::ScoreMode::kConcat},
  });
};
