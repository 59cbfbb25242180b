#include "model/layers/head_attention.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "base/error.h"
#include "graph/ops/attention.h"
#include "graph/ops/combine.h"
#include "graph/ops/constant.h"
#include "graph/ops/dense.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/mask.h"
#include "model/formula/formula_graph.h"
#include "model/key_aliases.h"
#include "model/layers/along_axis.h"
#include "model/layers/attention.h"

namespace mirrortrain::layers {
namespace {

using config::at_least, config::at_most, config::less_than, config::required;

constexpr std::int64_t kMostHeads = 1 << 16, kLargestHead = 1 << 20;

/// The projections of a layer, each with a kernel and perhaps a bias.
class Projections {
 public:
  Projections(LayerBuilder& builder, const HeadAttentionOptions& layer) : builder_(builder), layer_(layer) {}

  /// [steps, in] -> [steps, heads size].
  ValueId to_heads(std::string_view name, ValueId x, std::int64_t heads, std::int64_t size) {
    const std::int64_t in = builder_.sequence(x).back();
    const ValueId of_kernel = kernel(name, {in, heads, size}, 1, {in, heads * size});
    const ValueId of_bias = layer_.use_bias ? bias(name, {heads, size}, {heads * size}) : kNoValue;
    return builder_.apply(ops::Dense(), {x, of_kernel, of_bias});
  }
  /// [steps, heads size] -> [steps, out].
  ValueId from_heads(ValueId x, std::int64_t heads, std::int64_t size, std::int64_t out) {
    const ValueId of_kernel = kernel("attention_output", {heads, size, out}, 2, {heads * size, out});
    const ValueId of_bias = layer_.use_bias ? bias("attention_output", {out}, {out}) : kNoValue;
    return builder_.apply(ops::Dense(), {x, of_kernel, of_bias});
  }

 private:
  /// `inputs`: how many of the first axes are those of the input, for the fans.
  ValueId kernel(std::string_view of, const Shape& shape, std::int64_t inputs, const Shape& matrix) {
    std::vector<std::int64_t> in, out;
    for (std::int64_t axis = 0; axis < 3; ++axis) (axis < inputs ? in : out).push_back(axis);
    const ValueId whole =
        builder_.weight(fmt::format("{}/kernel", of), shape, with_fan_axes(layer_.kernel_initializer, in, out),
                        layer_.kernel_regularizer, layer_.kernel_constraint);
    return builder_.apply(ops::Reshape(matrix), {whole});
  }
  ValueId bias(std::string_view of, const Shape& shape, const Shape& vector) {
    const ValueId whole = builder_.weight(fmt::format("{}/bias", of), shape, layer_.bias_initializer,
                                          layer_.bias_regularizer, layer_.bias_constraint);
    return shape == vector ? whole : builder_.apply(ops::Reshape(vector), {whole});
  }

  LayerBuilder& builder_;
  const HeadAttentionOptions& layer_;
};

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
  return builder.apply(ops::Reshape({steps, columns * times}), {copies(builder.graph(), heads, 1, times)});
}

}  // namespace

config::Section<HeadAttentionOptions> HeadAttentionOptions::section() {
  using Self = HeadAttentionOptions;
  return config::Section<Self>("Attention of heads, with projections.")
      .advice("flash_attention", "the fastest kernels are chosen by themselves; leave it out")
      .advice("return_attention_scores", "a layer gives its output alone; leave it out")
      .advice("attention_mask",
              "padding is left out by the masks of an embedding with mask_zero, of masking and of sequences of several "
              "lengths, later steps by use_causal_mask; leave it out")
      .advice("attention_axes",
              "the steps are the axis before the features; bring them there with reshape and permute, and leave it out")
      .key("dropout", &Self::dropout, "Fraction of the attention weights to drop during training.", at_least(0),
           less_than(1))
      .key("use_bias", &Self::use_bias, "Whether the projections use bias vectors.", kUseBiasAliases)
      .key("use_causal_mask", &Self::use_causal_mask,
           "Whether a step attends to no later step, as a language model needs it.")
      .key("sliding_window", &Self::sliding_window,
           "A step attends to itself and to fewer than this many steps before and behind it, of which use_causal_mask "
           "leaves those before it; null: to all.",
           at_least(1), config::aliases("window_size, attention_window"))
      .key("rope_max_wavelength", &Self::rope_max_wavelength,
           "Rotates queries and keys by their position (rotary embedding): the wavelength towards which the slowest "
           "pair turns, such as 10000; null: they are not rotated.",
           config::greater_than(1), config::aliases("rope_theta, max_wavelength"))
      .key("use_gate", &Self::use_gate,
           "Whether the heads' outputs are multiplied by the sigmoid of one more projection of the query.")
      .key("kernel_initializer", &Self::kernel_initializer, "Initializer of the projections' kernels.",
           kKernelInitializerAliases)
      .key("bias_initializer", &Self::bias_initializer, "Initializer of the biases.")
      .key("kernel_regularizer", &Self::kernel_regularizer, "Regularizer of the kernels; null: none.")
      .key("bias_regularizer", &Self::bias_regularizer, "Regularizer of the biases; null: none.")
      .key("kernel_constraint", &Self::kernel_constraint, "Constraint of the kernels after each update; null: none.")
      .key("bias_constraint", &Self::bias_constraint, "Constraint of the biases after each update; null: none.")
      .check("bias_initializer", [](const Self& layer) { return without_bias(layer); })
      .check("bias_regularizer",
             [](const Self& layer) { return without_bias(layer, layer.bias_regularizer.has_value()); })
      .check("bias_constraint",
             [](const Self& layer) { return without_bias(layer, layer.bias_constraint.has_value()); })
      .include<LayerCommon>();
}

ValueId HeadAttentionOptions::attend(LayerBuilder& builder, std::span<const ValueId> sources, const Heads& heads,
                                     std::optional<std::int64_t> features) const {
  const AttentionOperands in(sources);
  const std::int64_t out = features.value_or(builder.sequence(in.query).back());
  Projections projections(builder, *this);
  // In Keras's variable order.
  ValueId query = projections.to_heads("query", in.query, heads.of_query, heads.size);
  ValueId key = projections.to_heads("key", in.key, heads.of_source, heads.size);
  if (rope_max_wavelength) {
    query = rotated(builder, query, heads.size, *rope_max_wavelength);
    key = rotated(builder, key, heads.size, *rope_max_wavelength);
  }
  const ValueId gate = use_gate ? projections.to_heads("gate", in.query, heads.of_query, heads.value_size) : kNoValue;
  const ValueId value = projections.to_heads("value", in.value, heads.of_source, heads.value_size);

  ops::AttentionAttributes attributes{.heads = heads.of_query,
                                      .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(heads.size))),
                                      .causal = use_causal_mask,
                                      .window = sliding_window.value_or(0)};
  // With dropout, Keras computes the weights explicitly, in training and evaluation.
  attributes.blind_sees_all = dropout == 0;
  if (builder.mode() == Mode::kTraining) {
    attributes.dropout = static_cast<float>(dropout);
    attributes.stream = builder.random_stream();
  }
  const std::int64_t sharing = heads.of_query / heads.of_source;
  const ValueId source_mask =
      ops::both_masks(builder.graph(), builder.mask(in.value_number),
                      in.key_number == in.value_number ? kNoValue : builder.mask(in.key_number));
  ValueId attended =
      builder.apply(ops::Attention(attributes),
                    {query, with_repeated_heads(builder, key, heads.size, sharing),
                     with_repeated_heads(builder, value, heads.value_size, sharing), builder.mask(0), source_mask});
  if (use_gate) {
    const ValueId open = builder.apply(ops::Activation(ops::ActivationKind::kSigmoid), {gate});
    attended = builder.apply(ops::Combine(ops::CombineKind::kMultiply), {attended, open});
  }
  builder.set_output_mask(builder.mask(0));
  return projections.from_heads(attended, heads.of_query, heads.value_size, out);
}

config::Section<MultiHeadAttention> MultiHeadAttention::section() {
  using Self = MultiHeadAttention;
  return config::Section<Self>(
             "Multi-head attention of a sequence to itself or, with `inputs: [QUERY, VALUE]`, to another; a third "
             "input is "
             "the key.")
      .key("num_heads", &Self::num_heads, "Number of attention heads.", required, at_least(1), at_most(kMostHeads))
      .key("key_dim", &Self::key_dim, "Size of each head's queries and keys.", required, at_least(1),
           at_most(kLargestHead))
      .key("value_dim", &Self::value_dim, "Size of each head's values; null: key_dim.", at_least(1),
           at_most(kLargestHead))
      .key("output_shape", &Self::output_shape, "Number of output features; null: as many as the query has.",
           at_least(1), at_most(kLargestHead))
      .include<HeadAttentionOptions>();
}

ValueId MultiHeadAttention::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  return attend(builder, sources, {num_heads, num_heads, key_dim, value_dim.value_or(key_dim)}, output_shape);
}

config::Section<GroupQueryAttention> GroupQueryAttention::section() {
  using Self = GroupQueryAttention;
  return config::Section<Self>(
             "Multi-head attention in which groups of query heads share keys and values; inputs as "
             "multi_head_attention's.")
      .key("head_dim", &Self::head_dim, "Size of each head.", required, at_least(1), at_most(kLargestHead))
      .key("num_query_heads", &Self::num_query_heads, "Number of query heads.", required, at_least(1),
           at_most(kMostHeads))
      .key("num_key_value_heads", &Self::num_key_value_heads,
           "Number of key and value heads, of which num_query_heads is a multiple.", required, at_least(1),
           at_most(kMostHeads), config::aliases("num_kv_heads"))
      .check("num_key_value_heads",
             [](const Self& layer) -> std::string {
               if (layer.num_query_heads % layer.num_key_value_heads == 0) return "";
               return fmt::format("expected a divisor of num_query_heads, {}", layer.num_query_heads);
             })
      .include<HeadAttentionOptions>();
}

ValueId GroupQueryAttention::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  return attend(builder, sources, {num_query_heads, num_key_value_heads, head_dim, head_dim}, std::nullopt);
}

}  // namespace mirrortrain::layers
