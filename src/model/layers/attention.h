#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "model/layer_builder.h"
#include "model/layer_common.h"

namespace mirrortrain::layers {

/// What attention reads of a layer's inputs: query, value and key, which is by default the value, as it is the query.
struct AttentionOperands {
  ValueId query, value, key;
  std::size_t value_number, key_number;  ///< of the inputs

  explicit AttentionOperands(std::span<const ValueId> sources)
      : query(sources[0]),
        value(sources[sources.size() > 1 ? 1 : 0]),
        key(sources.back()),
        value_number(sources.size() > 1 ? 1 : 0),
        key_number(sources.size() - 1) {}
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

}  // namespace mirrortrain::layers

template <>
struct mirrortrain::config::EnumNames<mirrortrain::layers::ScoreMode> {
  static constexpr auto names = std::to_array<std::pair<std::string_view, mirrortrain::layers::ScoreMode>>({
      {"dot", mirrortrain::layers::ScoreMode::kDot},
      {"concat", mirrortrain::layers::ScoreMode::kConcat},
  });
};
