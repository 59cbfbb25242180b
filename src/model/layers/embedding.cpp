#include "model/layers/embedding.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/ops/arrange.h"
#include "graph/ops/combine.h"
#include "graph/ops/dense.h"
#include "graph/ops/embedding.h"
#include "model/formula/formula_graph.h"

namespace mirrortrain::layers {

config::Section<EmbeddingOptions> EmbeddingOptions::section() {
  using Self = EmbeddingOptions;
  // Indices are float32, which cannot represent odd numbers above 2^24.
  constexpr std::int64_t kMostRows = std::int64_t{1} << 24;
  return config::Section<Self>("A table of vectors.")
      .key("input_dim", &Self::input_dim, "Number of rows: the largest number in the input plus 1.", config::required,
           config::at_least(1), config::at_most(static_cast<double>(kMostRows)),
           config::aliases("num_embeddings, vocab_size"))
      .key("output_dim", &Self::output_dim, "Length of the vectors.", config::required, config::at_least(1),
           config::aliases("embedding_dim, embed_dim, embedding_size"))
      .key("embeddings_initializer", &Self::embeddings_initializer, "Initializer of the table.")
      .key("embeddings_regularizer", &Self::embeddings_regularizer, "Regularizer of the table; null: none.")
      .key("embeddings_constraint", &Self::embeddings_constraint,
           "Constraint of the table after each update; null: none.")
      .key("mask_zero", &Self::mask_zero,
           "Whether the number 0 is padding. The output then carries a mask, by which later layers, loss and metrics "
           "leave padding out; docs/data.md says how far it goes.")
      .include<LayerCommon>();
}

ValueId EmbeddingOptions::look_up(LayerBuilder& builder, ValueId source, const Lora& lora) const {
  const ValueId numbers = builder.whole_numbers(source, input_dim);
  const ValueId table = lora.weight(builder, "embeddings", {input_dim, output_dim}, embeddings_initializer,
                                    embeddings_regularizer, embeddings_constraint);
  if (mask_zero) builder.mask_zero(numbers);
  return builder.apply(ops::Embedding(builder.graph().spec(source).dtype), {numbers, table});
}

config::Section<Embedding> Embedding::section() {
  return config::Section<Embedding>(
             "Turns whole numbers of the model's input into vectors: rows of a table. Optimizers update the "
             "table as with a dense gradient: all rows, those that do not occur in a batch too.")
      .include<EmbeddingOptions>()
      .include<Lora>()
      .check("embeddings_constraint",
             [](const Embedding& layer) { return with_lora(layer, layer.embeddings_constraint); });
}

ValueId Embedding::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  return look_up(builder, sources[0], *this);
}

config::Section<ReversibleEmbedding> ReversibleEmbedding::section() {
  using Self = ReversibleEmbedding;
  return config::Section<Self>(
             "An embedding that a language model also calls in reverse, from vectors to logits of the numbers: "
             "`reuse: {layer: NAME, inputs: [LAYER], reverse: true}`.")
      .include<EmbeddingOptions>()
      .key("tie_weights", &Self::tie_weights,
           "Whether the call in reverse multiplies by the table; else by a table of its own, reverse_embeddings.")
      .key("logit_soft_cap", &Self::logit_soft_cap,
           "Keeps the logits of the call in reverse between this and its negative: cap * tanh(logits / cap); null: it "
           "does not.",
           config::greater_than(0));
}

ValueId ReversibleEmbedding::reverse_table(LayerBuilder& builder) const {
  return builder.weight("reverse_embeddings", {output_dim, input_dim}, embeddings_initializer);
}

ValueId ReversibleEmbedding::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const ValueId vectors = look_up(builder, sources[0], {});
  if (!tie_weights) reverse_table(builder);
  return vectors;
}

ValueId ReversibleEmbedding::build_reverse(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const ValueId x = sources[0];
  if (builder.features(x).back() != output_dim) {
    throw Error(
        fmt::format("expected vectors of output_dim, {}, found the shape {}", output_dim, builder.described(x)));
  }
  if (builder.has_masks()) builder.warn_of_lost_mask("an embedding that is called in reverse carries none on");
  ValueId logits = kNoValue;
  if (tie_weights) {
    const ValueId table = builder.weight("embeddings", {input_dim, output_dim}, embeddings_initializer);
    logits = builder.apply(ops::DenseInputGradient(), {x, table});
  } else {
    logits = builder.apply(ops::Dense(), {x, reverse_table(builder), kNoValue});
  }
  if (!logit_soft_cap) return logits;
  return formula::add_formula(builder.graph(), fmt::format("{0:.9g} * tanh(x / {0:.9g})", *logit_soft_cap),
                              {{"x", logits}}, builder.graph().spec(logits).dtype);
}

config::Section<PositionEmbedding> PositionEmbedding::section() {
  return config::Section<PositionEmbedding>("Adds a trained vector to each position of a sequence.")
      .key("sequence_length", &PositionEmbedding::sequence_length,
           "The most positions that a sequence has. A shorter one takes the first vectors.", config::required,
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
