#include "model/layers/embedding.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/ops/arrange.h"
#include "graph/ops/combine.h"
#include "graph/ops/embedding.h"

namespace mirrortrain::layers {

config::Section<Embedding> Embedding::section() {
  // Indices are float32, which cannot represent odd numbers above 2^24.
  constexpr std::int64_t kMostRows = std::int64_t{1} << 24;
  return config::Section<Embedding>(
             "Turns whole numbers of the model's input into vectors: rows of a table. Optimizers update the "
             "table as with a dense gradient: all rows, those that do not occur in a batch too.")
      .key("input_dim", &Embedding::input_dim, "Number of rows: the largest number in the input plus 1.",
           config::required, config::at_least(1), config::at_most(static_cast<double>(kMostRows)),
           config::aliases("num_embeddings, vocab_size"))
      .key("output_dim", &Embedding::output_dim, "Length of the vectors.", config::required, config::at_least(1),
           config::aliases("embedding_dim, embed_dim, embedding_size"))
      .key("embeddings_initializer", &Embedding::embeddings_initializer, "Initializer of the table.")
      .key("embeddings_regularizer", &Embedding::embeddings_regularizer, "Regularizer of the table; null: none.")
      .key("embeddings_constraint", &Embedding::embeddings_constraint,
           "Constraint of the table after each update; null: none.")
      .key("mask_zero", &Embedding::mask_zero,
           "Whether the number 0 is padding. The output then carries a mask, by which later layers, loss and metrics "
           "leave padding out; docs/data.md says how far it goes.")
      .include<Lora>()
      .check("embeddings_constraint",
             [](const Embedding& layer) { return with_lora(layer, layer.embeddings_constraint); })
      .include<LayerCommon>();
}

ValueId Embedding::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const ValueId numbers = builder.whole_numbers(sources[0], input_dim);
  const ValueId table = weight(builder, "embeddings", {input_dim, output_dim}, embeddings_initializer,
                               embeddings_regularizer, embeddings_constraint);
  if (mask_zero) builder.mask_zero(numbers);
  return builder.apply(ops::Embedding(builder.graph().spec(sources[0]).dtype), {numbers, table});
}

config::Section<PositionEmbedding> PositionEmbedding::section() {
  return config::Section<PositionEmbedding>("Adds a trained vector to each step of a sequence: where it is.")
      .key("sequence_length", &PositionEmbedding::sequence_length,
           "The most steps that a sequence has. One of fewer takes the first vectors.", config::required,
           config::at_least(1))
      .key("initializer", &PositionEmbedding::initializer, "Initializer of the vectors.")
      .include<LayerCommon>();
}

ValueId PositionEmbedding::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const Shape& sequence = builder.sequence(sources[0]);
  if (sequence[0] > sequence_length) {
    throw Error(fmt::format("expected sequences of at most {} steps, found {}; set sequence_length to {}",
                            sequence_length, builder.described(sources[0]), sequence[0]));
  }
  const std::int64_t steps = sequence[0];
  const ValueId table = builder.weight("embeddings", {sequence_length, sequence.back()}, initializer);
  const ValueId vectors = builder.apply(ops::FirstRows(steps), {table});
  return builder.apply(ops::Combine(ops::CombineKind::kAdd), {sources[0], vectors});
}

}  // namespace mirrortrain::layers
