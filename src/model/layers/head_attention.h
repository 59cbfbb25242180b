#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "model/constraint.h"
#include "model/initializers.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"
#include "model/layers/attention.h"
#include "model/layers/moved_axes.h"
#include "model/regularizer.h"

namespace mirrortrain::layers {

/// Attention of heads, which are projections of query, key and value, and a projection of all heads' outputs. A masked
/// step of the query attends to nothing, with use_query_mask, and a masked step of the value is not attended to; the
/// output has the query's mask.
struct HeadAttentionOptions : LayerCommon {
  static constexpr Masking kMasking = Masking::kOwn;
  static constexpr std::size_t kMostInputs = 3;
  double dropout = 0;
  bool use_bias = true, use_causal_mask = false, use_query_mask = true, use_gate = false;
  std::optional<std::int64_t> sliding_window;
  std::optional<double> rope_max_wavelength;
  Initializer kernel_initializer = initializers::GlorotUniform{};
  Initializer bias_initializer = initializers::Zeros{};
  std::optional<Regularizer> kernel_regularizer, bias_regularizer;
  std::optional<Constraint> kernel_constraint, bias_constraint;

  static config::Section<HeadAttentionOptions> section();

 protected:
  struct Heads {
    std::int64_t of_query, of_source;  ///< of_query / of_source neighbouring heads of the query share a source's
    std::int64_t size, value_size;
  };
  /// `attended`: the axes whose positions are the steps, in order; `features`: the output's last axes.
  ValueId attend(LayerBuilder& builder, std::span<const ValueId> sources, const Heads& heads,
                 const std::vector<std::size_t>& attended, const Shape& features) const;

 private:
  /// Throws Error where an option or an input does not go with the attended axes.
  void check_axes(const LayerBuilder& builder, const AttentionOperands& in,
                  const std::vector<std::size_t>& attended) const;
};

/// query [steps, channels], value [source steps, its own channels] or the query, key or the value -> [steps, channels]:
/// projections of the query to num_heads queries of key_dim, of the key to as many keys and of the value to values of
/// value_dim, attention of each head, and a projection of all heads' outputs to output_shape or back to the query's
/// channels. Inputs may have more axes: the steps are then the positions along attention_axes, all but the channels by
/// default, and those that differ along another axis do not attend to each other. Variables, each kernel and bias:
/// query [channels, num_heads, key_dim], key, value [..., value_dim], attention_output [num_heads, value_dim,
/// channels], and gate as query, with values' size, with use_gate.
struct MultiHeadAttention : HeadAttentionOptions {
  static constexpr std::string_view kName = "multi_head_attention";
  static constexpr std::string_view kAliases = "mha";
  std::int64_t num_heads = 1, key_dim = 1;
  std::optional<std::int64_t> value_dim;
  std::optional<std::variant<std::int64_t, std::vector<std::int64_t>>> output_shape;
  std::optional<Axes> attention_axes;

  static config::Section<MultiHeadAttention> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// Multi-head attention in which groups of query heads share keys and values (Ainslie et al., 2023): query [steps,
/// channels], value and key [source steps, their own channels], by default the query and the value -> [steps,
/// channels]. Variables, each kernel and bias: query [channels, num_query_heads, head_dim], key, value [...,
/// num_key_value_heads, head_dim], gate as query with use_gate, attention_output [num_query_heads, head_dim,
/// channels].
struct GroupQueryAttention : HeadAttentionOptions {
  static constexpr std::string_view kName = "group_query_attention";
  static constexpr std::string_view kAliases = "grouped_query_attention, gqa";
  std::int64_t head_dim = 1, num_query_heads = 1, num_key_value_heads = 1;

  static config::Section<GroupQueryAttention> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
