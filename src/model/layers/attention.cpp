#include "model/layers/attention.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/ops/attention.h"
#include "graph/ops/constant.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/mask.h"
#include "graph/ops/matmul.h"
#include "model/formula/formula_graph.h"

namespace mirrortrain::layers {

using config::at_least, config::less_than;

config::Section<AttentionOptions> AttentionOptions::section() {
  return config::Section<AttentionOptions>("Attention of `inputs: [QUERY, VALUE]` or [QUERY, VALUE, KEY].")
      .key("dropout", &AttentionOptions::dropout, "Fraction of the attention weights to drop during training.",
           at_least(0), less_than(1))
      .key("use_causal_mask", &AttentionOptions::use_causal_mask, "Whether a step attends to no later step.")
      .include<LayerCommon>();
}

ValueId AttentionOptions::masked_output(LayerBuilder& builder, ValueId output) const {
  builder.set_output_mask(builder.mask(0));
  if (builder.mask(0) == kNoValue) return output;
  return builder.apply(ops::Select(0), {builder.mask(0), output, kNoValue});
}

ValueId AttentionOptions::attend(LayerBuilder& builder, std::span<const ValueId> sources, ValueId scores) const {
  const DType dtype = builder.graph().spec(scores).dtype;
  const Shape shape = builder.shape(scores);
  formula::Values values{{"scores", scores}};
  if (use_causal_mask) {
    std::vector<float> earlier;
    for (std::int64_t i = 0; i < shape.elements(); ++i) earlier.push_back(i % shape[1] <= i / shape[1] ? 1.0f : 0.0f);
    values.emplace("earlier", builder.apply(ops::Constant(shape, std::move(earlier)), {}));
  }
  if (ValueId counts = builder.mask(1); counts != kNoValue) {
    counts = builder.apply(ops::Reshape({1, shape[1]}), {counts});
    values.emplace("counts", dtype == DType::kFloat32 ? counts : builder.apply(ops::Cast(dtype), {counts}));
  }
  // As in Keras, not minus infinity, so that a step that may attend to nothing has finite weights.
  if (values.size() > 1) {
    const std::string_view attends = values.size() == 3 ? "earlier and counts" : use_causal_mask ? "earlier" : "counts";
    scores =
        formula::add_formula(builder.graph(), fmt::format("where({}, scores, scores - 1e9)", attends), values, dtype);
  }
  ValueId weights = builder.apply(ops::Softmax(), {scores});
  if (dropout > 0 && builder.mode() == Mode::kTraining) {
    weights = builder.apply(ops::Dropout(dropout, builder.random_stream()), {weights});
  }
  return masked_output(builder, builder.apply(ops::MatMul(), {weights, sources[1]}));
}

namespace {

/// [steps, 1, channels] and [1, source steps, channels], which broadcast to a sum for each pair of steps.
std::pair<ValueId, ValueId> pairs_of_steps(LayerBuilder& builder, const AttentionOperands& in) {
  const Shape query = builder.sequence(in.query), key = builder.sequence(in.key);
  if (query[1] != key[1]) {
    throw Error(fmt::format("expected as many channels in query and key, found {} and {}", builder.described(in.query),
                            builder.described(in.key)));
  }
  return {builder.apply(ops::Reshape({query[0], 1, query[1]}), {in.query}),
          builder.apply(ops::Reshape({1, key[0], key[1]}), {in.key})};
}

/// Throws Error unless each key has a value.
void require_same_steps(const LayerBuilder& builder, const AttentionOperands& in) {
  if (builder.sequence(in.value)[0] == builder.sequence(in.key)[0]) return;
  throw Error(fmt::format("expected as many steps in value and key, found {} and {}", builder.described(in.value),
                          builder.described(in.key)));
}

}  // namespace

config::Section<Attention> Attention::section() {
  return config::Section<Attention>(
             "Attention without projections: `inputs: [QUERY, VALUE]`, and the key if it is not the value; weights are "
             "the softmax of query · key.")
      .key("use_scale", &Attention::use_scale, "Whether a trained number scales the scores.")
      .key("score_mode", &Attention::score_mode,
           "dot: query · key; concat: the sum of tanh(query + key), times a "
           "trained number.")
      .include<AttentionOptions>();
}

ValueId Attention::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const AttentionOperands in(sources);
  require_same_steps(builder, in);
  const ValueId scale = use_scale ? builder.weight("scale", {}, initializers::Ones{}) : kNoValue;
  if (score_mode == ScoreMode::kConcat) {
    const ValueId weight = builder.weight("concat_score_weight", {}, initializers::Ones{});
    const auto [query, key] = pairs_of_steps(builder, in);
    formula::Values values{{"query", query}, {"key", key}, {"weight", weight}};
    if (use_scale) values.emplace("scale", scale);
    return attend(builder, sources,
                  formula::add_formula(builder.graph(),
                                       use_scale ? "weight * sum(tanh(scale * (query + key)), axis=-1)"
                                                 : "weight * sum(tanh(query + key), axis=-1)",
                                       values, builder.graph().spec(query).dtype));
  }
  ValueId query = in.query;
  if (builder.sequence(query)[1] != builder.sequence(in.key)[1]) pairs_of_steps(builder, in);  // throws
  if (use_scale) {
    query = formula::add_formula(builder.graph(), "query * scale", {{"query", query}, {"scale", scale}},
                                 builder.graph().spec(query).dtype);
  }
  ops::AttentionAttributes attributes{.causal = use_causal_mask};
  if (builder.mode() == Mode::kTraining && dropout > 0) {
    attributes.dropout = dropout;
    attributes.stream = builder.random_stream();
  }
  const ValueId attended =
      builder.apply(ops::Attention(attributes), {query, in.key, in.value, kNoValue, builder.mask(1)});
  return masked_output(builder, attended);
}

config::Section<AdditiveAttention> AdditiveAttention::section() {
  return config::Section<AdditiveAttention>(
             "Additive attention: `inputs: [QUERY, VALUE]`, and the key if it is not the value; weights are the "
             "softmax of the sum of scale * tanh(query + key) over the channels.")
      .key("use_scale", &AdditiveAttention::use_scale, "Whether a trained vector scales the channels.")
      .include<AttentionOptions>();
}

ValueId AdditiveAttention::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const AttentionOperands in(sources);
  require_same_steps(builder, in);
  const auto [query, key] = pairs_of_steps(builder, in);
  formula::Values values{{"query", query}, {"key", key}};
  if (use_scale) {
    values.emplace("scale", builder.weight("scale", {builder.sequence(in.query)[1]}, initializers::GlorotUniform{}));
  }
  return attend(
      builder, sources,
      formula::add_formula(builder.graph(),
                           use_scale ? "sum(scale * tanh(query + key), axis=-1)" : "sum(tanh(query + key), axis=-1)",
                           values, builder.graph().spec(query).dtype));
}

}  // namespace mirrortrain::layers
