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
/// mask_zero the output has the numbers' mask. With lora_rank: lora_embeddings_a and lora_embeddings_b, too.
struct Embedding : Lora, LayerCommon {
  static constexpr std::string_view kName = "embedding";
  static constexpr Masking kMasking = Masking::kOwn;
  static constexpr bool kTreatsVectors = true;
  std::int64_t input_dim = 1, output_dim = 1;
  bool mask_zero = false;
  Initializer embeddings_initializer = initializers::RandomUniform{};
  std::optional<Regularizer> embeddings_regularizer;
  std::optional<Constraint> embeddings_constraint;

  static config::Section<Embedding> section();
  ValueId build(LayerBuilder& builder, std::span<const ValueId> sources) const;
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
