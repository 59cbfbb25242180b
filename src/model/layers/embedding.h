#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/initializers.h"
#include "model/layer_builder.h"
#include "model/layer_common.h"
#include "model/layers/lora.h"
#include "model/regularizer.h"

namespace mirrortrain::layers {

/// [...] whole numbers from 0 to input_dim - 1 -> [..., output_dim]; variable embeddings [input_dim, output_dim]. With
/// mask_zero the output has the numbers' mask.
struct EmbeddingOptions : LayerCommon {
  static constexpr Masking kMasking = Masking::kOwn;
  std::int64_t input_dim = 1, output_dim = 1;
  bool mask_zero = false;
  Initializer embeddings_initializer = initializers::RandomUniform{};
  std::optional<Regularizer> embeddings_regularizer;
  std::optional<Constraint> embeddings_constraint;

  static config::Section<EmbeddingOptions> section();

 protected:
  /// The rows of a table; `lora`: of what it may be the sum.
  ValueId look_up(LayerBuilder& builder, ValueId source, const Lora& lora) const;
};

/// With lora_rank the table is the sum of a frozen one and of lora_embeddings_a times lora_embeddings_b.
struct Embedding : EmbeddingOptions, Lora {
  static constexpr std::string_view kName = "embedding";
  static constexpr bool kTreatsVectors = true;

  static config::Section<Embedding> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

/// An embedding that is also called in reverse, [..., output_dim] -> logits [..., input_dim]: the products with the
/// table's rows (Press and Wolf, 2017), or with reverse_embeddings [output_dim, input_dim] without tie_weights.
struct ReversibleEmbedding : EmbeddingOptions {
  static constexpr std::string_view kName = "reversible_embedding";
  static constexpr bool kTreatsVectors = true;
  bool tie_weights = true;
  std::optional<double> logit_soft_cap;

  static config::Section<ReversibleEmbedding> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
  ValueId build_reverse(LayerBuilder& builder, std::span<const ValueId> sources) const;

 private:
  ValueId reverse_table(LayerBuilder& builder) const;
};

/// [steps, channels], of at most sequence_length steps -> the same plus a vector for each position; variable embeddings
/// [sequence_length, channels].
struct PositionEmbedding : LayerCommon {
  static constexpr std::string_view kName = "position_embedding";
  static constexpr Masking kMasking = Masking::kPasses;
  std::int64_t sequence_length = 1;
  Initializer initializer = initializers::GlorotUniform{};

  static config::Section<PositionEmbedding> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
};

}  // namespace mirrortrain::layers
