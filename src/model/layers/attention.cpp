#include "model/layers/attention.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "graph/ops/attention.h"
#include "graph/ops/combine.h"
#include "graph/ops/constant.h"
#include "graph/ops/dense.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/mask.h"
#include "graph/ops/matmul.h"
#include "graph/ops/upsample2d.h"
#include "model/formula/formula_graph.h"
#include "model/key_aliases.h"

namespace mirrortrain::layers {
namespace {

using config::at_least, config::at_most, config::less_than, config::required;

constexpr std::int64_t kMostHeads = 1 << 16, kLargestHead = 1 << 20;

/// What layers that project queries, keys and values have in common.
template <class Layer>
config::Section<Layer>& add_projection_keys(config::Section<Layer>& section) {
  return section
      .key("dropout", &Layer::dropout, "Fraction of the attention weights to drop during training.", at_least(0),
           less_than(1))
      .key("use_bias", &Layer::use_bias, "Whether the projections use bias vectors.", kUseBiasAliases)
      .key("use_causal_mask", &Layer::use_causal_mask,
           "Whether a step attends to no later step, as a language model needs it.")
      .key("rope_max_wavelength", &Layer::rope_max_wavelength,
           "Rotates queries and keys by their position (rotary embedding): the wavelength towards which the slowest "
           "pair "
           "turns, such as 10000; null: they are not rotated.",
           config::greater_than(1), config::aliases("rope_theta, max_wavelength"))
      .key("use_gate", &Layer::use_gate,
           "Whether the heads' outputs are multiplied by the sigmoid of one more projection of the query.")
      .key("kernel_initializer", &Layer::kernel_initializer, "Initializer of the projections' kernels.",
           kKernelInitializerAliases)
      .key("bias_initializer", &Layer::bias_initializer, "Initializer of the biases.")
      .key("kernel_regularizer", &Layer::kernel_regularizer, "Regularizer of the kernels; null: none.")
      .key("bias_regularizer", &Layer::bias_regularizer, "Regularizer of the biases; null: none.")
      .key("kernel_constraint", &Layer::kernel_constraint, "Constraint of the kernels after each update; null: none.")
      .key("bias_constraint", &Layer::bias_constraint, "Constraint of the biases after each update; null: none.")
      .check("bias_initializer", [](const Layer& layer) { return without_bias(layer); })
      .check("bias_regularizer",
             [](const Layer& layer) { return without_bias(layer, layer.bias_regularizer.has_value()); })
      .check("bias_constraint",
             [](const Layer& layer) { return without_bias(layer, layer.bias_constraint.has_value()); })
      .template include<LayerCommon>();
}

/// The projections of a layer, each with a kernel and perhaps a bias.
template <class Layer>
class Projections {
 public:
  Projections(LayerBuilder& builder, const Layer& layer) : builder_(builder), layer_(layer) {}

  /// [steps, in] -> [steps, heads size].
  ValueId to_heads(std::string_view name, ValueId x, std::int64_t heads, std::int64_t size) {
    const std::int64_t in = builder_.sequence(x).back();
    const ValueId kernel = weight(name, "kernel", {in, heads, size}, {in, heads * size});
    const ValueId bias = layer_.use_bias ? weight(name, "bias", {heads, size}, {heads * size}) : kNoValue;
    return builder_.apply(ops::Dense(), {x, kernel, bias});
  }
  /// [steps, heads size] -> [steps, out].
  ValueId from_heads(ValueId x, std::int64_t heads, std::int64_t size, std::int64_t out) {
    const ValueId kernel = weight("attention_output", "kernel", {heads, size, out}, {heads * size, out});
    const ValueId bias = layer_.use_bias ? weight("attention_output", "bias", {out}, {out}) : kNoValue;
    return builder_.apply(ops::Dense(), {x, kernel, bias});
  }
  /// `x`, [steps, heads size], times the sigmoid of the projection `gate` of the query.
  ValueId gated(ValueId x, ValueId gate) {
    const ValueId open = builder_.apply(ops::Activation(ops::ActivationKind::kSigmoid), {gate});
    return builder_.apply(ops::Combine(ops::CombineKind::kMultiply), {x, open});
  }

 private:
  ValueId weight(std::string_view of, std::string_view name, const Shape& shape, const Shape& matrix) {
    const bool is_bias = name == "bias";
    const ValueId whole = builder_.weight(fmt::format("{}/{}", of, name), shape,
                                          is_bias ? layer_.bias_initializer : layer_.kernel_initializer,
                                          is_bias ? layer_.bias_regularizer : layer_.kernel_regularizer,
                                          is_bias ? layer_.bias_constraint : layer_.kernel_constraint);
    return shape == matrix ? whole : builder_.apply(ops::Reshape(matrix), {whole});
  }

  LayerBuilder& builder_;
  const Layer& layer_;
};

/// Attention with `heads` heads of `size`, and what the layer says of dropout and the causal mask.
template <class Layer>
ops::AttentionAttributes attributes_of(const LayerBuilder& builder, const Layer& layer, std::int64_t heads,
                                       std::int64_t size) {
  ops::AttentionAttributes attributes{.heads = heads,
                                      .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(size))),
                                      .causal = layer.use_causal_mask};
  // With dropout, Keras computes the weights explicitly, in training and evaluation.
  attributes.blind_sees_all = layer.dropout == 0;
  if (builder.mode() == Mode::kTraining) {
    attributes.dropout = static_cast<float>(layer.dropout);
    attributes.stream = builder.random_stream();
  }
  return attributes;
}

/// [steps, heads size] with each head's pairs (i, i + size / 2) turned by the angle step / wavelength^(2 i / size) (Su
/// et al., 2021).
ValueId rotated(LayerBuilder& builder, ValueId x, std::int64_t size, double wavelength) {
  const std::int64_t steps = builder.shape(x)[0], columns = builder.shape(x)[1], half = size / 2;
  if (size % 2 != 0)
    throw Error(fmt::format("a rotary embedding turns pairs; expected heads of even size, found {}", size));
  std::vector<float> cosines, sines;
  for (std::int64_t step = 0; step < steps; ++step) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double slowness = std::pow(wavelength, 2 * static_cast<double>(i) / static_cast<double>(size));
      const double angle = static_cast<double>(step) / slowness;
      cosines.push_back(static_cast<float>(std::cos(angle)));
      sines.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  const Shape table{steps, 1, 1, half};
  const ValueId pairs = builder.apply(ops::Reshape({steps, columns / size, 2, half}), {x});
  const ValueId turned = formula::add_formula(
      builder.graph(),
      "concatenate(x[..., 0:1, :] * c - x[..., 1:2, :] * s, x[..., 1:2, :] * c + x[..., 0:1, :] * s, axis=2)",
      {{"x", pairs},
       {"c", builder.apply(ops::Constant(table, std::move(cosines)), {})},
       {"s", builder.apply(ops::Constant(table, std::move(sines)), {})}},
      builder.graph().spec(x).dtype);
  return builder.apply(ops::Reshape({steps, columns}), {turned});
}

/// Each head, a block of `size` channels of [steps, heads size], `times` times.
ValueId with_repeated_heads(LayerBuilder& builder, ValueId x, std::int64_t size, std::int64_t times) {
  if (times == 1) return x;
  const std::int64_t steps = builder.shape(x)[0], columns = builder.shape(x)[1];
  const ValueId heads = builder.apply(ops::Reshape({steps, columns / size, size}), {x});
  const ops::Upsample2d repeat({1, times}, ops::Interpolation::kNearest);
  return builder.apply(ops::Reshape({steps, columns * times}), {builder.apply(repeat, {heads})});
}

/// Query, value and key, which is by default the value, as it is the query.
struct Operands {
  ValueId query, value, key;
  std::size_t value_number;

  explicit Operands(std::span<const ValueId> sources)
      : query(sources[0]),
        value(sources[sources.size() > 1 ? 1 : 0]),
        key(sources[sources.size() > 2 ? 2 : sources.size() - 1]),
        value_number(sources.size() > 1 ? 1 : 0) {}
};

}  // namespace

config::Section<MultiHeadAttention> MultiHeadAttention::section() {
  using Self = MultiHeadAttention;
  config::Section<Self> section(
      "Multi-head attention of a sequence to itself or, with `inputs: [QUERY, VALUE]`, to another; a third input is "
      "the key.");
  section.key("num_heads", &Self::num_heads, "Number of attention heads.", required, at_least(1), at_most(kMostHeads))
      .key("key_dim", &Self::key_dim, "Size of each head's queries and keys.", required, at_least(1),
           at_most(kLargestHead))
      .key("value_dim", &Self::value_dim, "Size of each head's values; null: key_dim.", at_least(1),
           at_most(kLargestHead))
      .key("output_shape", &Self::output_shape, "Number of output features; null: as many as the query has.",
           at_least(1), at_most(kLargestHead));
  return add_projection_keys(section);
}

ValueId MultiHeadAttention::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const Operands in(sources);
  const std::int64_t channels = builder.sequence(in.query).back(), of_value = value_dim.value_or(key_dim);
  Projections projections(builder, *this);
  // In Keras's variable order.
  ValueId query = projections.to_heads("query", in.query, num_heads, key_dim);
  ValueId key = projections.to_heads("key", in.key, num_heads, key_dim);
  if (rope_max_wavelength) {
    query = rotated(builder, query, key_dim, *rope_max_wavelength);
    key = rotated(builder, key, key_dim, *rope_max_wavelength);
  }
  const ValueId gate = use_gate ? projections.to_heads("gate", in.query, num_heads, of_value) : kNoValue;
  const ValueId value = projections.to_heads("value", in.value, num_heads, of_value);
  ValueId attended = builder.apply(ops::Attention(attributes_of(builder, *this, num_heads, key_dim)),
                                   {query, key, value, builder.mask(0), builder.mask(in.value_number)});
  if (use_gate) attended = projections.gated(attended, gate);
  builder.set_output_mask(builder.mask(0));
  return projections.from_heads(attended, num_heads, of_value, output_shape.value_or(channels));
}

config::Section<GroupQueryAttention> GroupQueryAttention::section() {
  using Self = GroupQueryAttention;
  config::Section<Self> section(
      "Multi-head attention in which groups of query heads share keys and values; inputs as multi_head_attention's.");
  section.key("head_dim", &Self::head_dim, "Size of each head.", required, at_least(1), at_most(kLargestHead))
      .key("num_query_heads", &Self::num_query_heads, "Number of query heads.", required, at_least(1),
           at_most(kMostHeads))
      .key("num_key_value_heads", &Self::num_key_value_heads,
           "Number of key and value heads, of which num_query_heads is a multiple.", required, at_least(1),
           at_most(kMostHeads), config::aliases("num_kv_heads"))
      .check("num_key_value_heads", [](const Self& layer) -> std::string {
        if (layer.num_query_heads % layer.num_key_value_heads == 0) return "";
        return fmt::format("expected a divisor of num_query_heads, {}", layer.num_query_heads);
      });
  return add_projection_keys(section);
}

ValueId GroupQueryAttention::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const Operands in(sources);
  const std::int64_t channels = builder.sequence(in.query).back(), shared = num_query_heads / num_key_value_heads;
  Projections projections(builder, *this);
  ValueId query = projections.to_heads("query", in.query, num_query_heads, head_dim);
  ValueId key = projections.to_heads("key", in.key, num_key_value_heads, head_dim);
  if (rope_max_wavelength) {
    query = rotated(builder, query, head_dim, *rope_max_wavelength);
    key = rotated(builder, key, head_dim, *rope_max_wavelength);
  }
  const ValueId gate = use_gate ? projections.to_heads("gate", in.query, num_query_heads, head_dim) : kNoValue;
  const ValueId value = projections.to_heads("value", in.value, num_key_value_heads, head_dim);
  ValueId attended = builder.apply(
      ops::Attention(attributes_of(builder, *this, num_query_heads, head_dim)),
      {query, with_repeated_heads(builder, key, head_dim, shared),
       with_repeated_heads(builder, value, head_dim, shared), builder.mask(0), builder.mask(in.value_number)});
  if (use_gate) attended = projections.gated(attended, gate);
  builder.set_output_mask(builder.mask(0));
  return projections.from_heads(attended, num_query_heads, head_dim, channels);
}

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
std::pair<ValueId, ValueId> pairs_of_steps(LayerBuilder& builder, const Operands& in) {
  const Shape query = builder.sequence(in.query), key = builder.sequence(in.key);
  if (query[1] != key[1]) {
    throw Error(fmt::format("expected as many channels in query and key, found {} and {}", builder.described(in.query),
                            builder.described(in.key)));
  }
  return {builder.apply(ops::Reshape({query[0], 1, query[1]}), {in.query}),
          builder.apply(ops::Reshape({1, key[0], key[1]}), {in.key})};
}

/// Throws Error unless each key has a value.
void require_same_steps(const LayerBuilder& builder, const Operands& in) {
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
  const Operands in(sources);
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
             "softmax "
             "of the sum of scale * tanh(query + key) over the channels.")
      .key("use_scale", &AdditiveAttention::use_scale, "Whether a trained vector scales the channels.")
      .include<AttentionOptions>();
}

ValueId AdditiveAttention::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const Operands in(sources);
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
