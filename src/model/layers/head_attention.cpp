#include "model/layers/head_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "graph/ops/arrange.h"
#include "graph/ops/attention.h"
#include "graph/ops/combine.h"
#include "graph/ops/constant.h"
#include "graph/ops/dense.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/mask.h"
#include "model/formula/formula_graph.h"
#include "model/key_aliases.h"
#include "model/layers/along_axis.h"

namespace mirrortrain::layers {
namespace {

using config::at_least, config::at_most, config::less_than, config::required;

constexpr std::int64_t kMostHeads = 1 << 16, kLargestHead = 1 << 20;

/// The projections of a layer, each with a kernel and perhaps a bias.
class Projections {
 public:
  Projections(LayerBuilder& builder, const HeadAttentionOptions& layer) : builder_(builder), layer_(layer) {}

  /// [rows, in] -> [rows, heads size].
  ValueId to_heads(std::string_view name, ValueId x, std::int64_t heads, std::int64_t size) {
    const std::int64_t in = builder_.shape(x).back();
    const ValueId of_kernel = kernel(name, {in, heads, size}, 1, {in, heads * size});
    const ValueId of_bias = layer_.use_bias ? bias(name, {heads, size}, {heads * size}) : kNoValue;
    return builder_.apply(ops::Dense(), {x, of_kernel, of_bias});
  }
  /// [rows, heads size] -> [rows, elements of `out`].
  ValueId from_heads(ValueId x, std::int64_t heads, std::int64_t size, const Shape& out) {
    std::vector<std::int64_t> dims{heads, size};
    dims.insert(dims.end(), out.begin(), out.end());
    const std::int64_t columns = out.elements();
    const ValueId of_kernel = kernel("attention_output", Shape(dims), 2, {heads * size, columns});
    const ValueId of_bias = layer_.use_bias ? bias("attention_output", out, {columns}) : kNoValue;
    return builder_.apply(ops::Dense(), {x, of_kernel, of_bias});
  }

 private:
  /// `inputs`: how many of the first axes are those of the input, for the fans.
  ValueId kernel(std::string_view of, const Shape& shape, std::size_t inputs, const Shape& matrix) {
    std::vector<std::int64_t> in, out;
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      (axis < inputs ? in : out).push_back(static_cast<std::int64_t>(axis));
    }
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

/// An input of attention as steps, which are the positions along the attended axes. The positions along its other axes
/// are groups: the steps of one do not attend to those of another.
class Steps {
 public:
  Steps(LayerBuilder& builder, ValueId input, const std::vector<std::size_t>& attended)
      : builder_(builder), moved_(builder, input, with_channels(builder, input, attended)) {
    const Shape& shape = builder.shape(moved_.value());
    const std::size_t others = shape.rank() - 1 - attended.size();
    outer_.assign(shape.begin(), shape.end() - 1);
    for (std::size_t axis = 0; axis < outer_.size(); ++axis) (axis < others ? groups_ : steps_) *= outer_[axis];
  }

  std::int64_t groups() const { return groups_; }
  std::int64_t steps() const { return steps_; }
  /// [groups steps, channels].
  ValueId rows() const { return reshaped(moved_.value(), {groups_ * steps_, builder_.shape(moved_.value()).back()}); }
  /// [groups steps, columns] -> [steps, groups columns], in which the heads of all groups are beside each other.
  ValueId beside(ValueId rows) const {
    if (groups_ == 1) return rows;
    const std::int64_t columns = builder_.shape(rows).back();
    return reshaped(exchanged(reshaped(rows, {groups_, steps_, columns})), {steps_, groups_ * columns});
  }
  /// What beside() made of rows, as these.
  ValueId rows_of(ValueId beside) const {
    if (groups_ == 1) return beside;
    const std::int64_t columns = builder_.shape(beside).back() / groups_;
    return reshaped(exchanged(reshaped(beside, {steps_, groups_, columns})), {groups_ * steps_, columns});
  }
  /// [groups steps, elements of `features`] -> the input's axes, with these in place of the channels.
  ValueId back(ValueId rows, const Shape& features) const {
    std::vector<std::int64_t> dims = outer_;
    dims.push_back(features.elements());
    const ValueId value = moved_.back(reshaped(rows, Shape(dims)));
    dims.assign(builder_.shape(value).begin(), builder_.shape(value).end() - 1);
    dims.insert(dims.end(), features.begin(), features.end());
    return reshaped(value, Shape(dims));
  }

 private:
  static std::vector<std::size_t> with_channels(const LayerBuilder& builder, ValueId input,
                                                std::vector<std::size_t> attended) {
    attended.push_back(builder.shape(input).rank() - 1);
    return attended;
  }
  ValueId reshaped(ValueId value, const Shape& shape) const {
    return builder_.shape(value) == shape ? value : builder_.apply(ops::Reshape(shape), {value});
  }
  ValueId exchanged(ValueId value) const { return builder_.apply(ops::Transpose({1, 0, 2}), {value}); }

  LayerBuilder& builder_;
  MovedAxes moved_;
  std::vector<std::int64_t> outer_;  ///< without the channels
  std::int64_t groups_ = 1, steps_ = 1;
};

/// Throws Error unless query and source have the same groups, and value and key the same steps.
void require_alike(const LayerBuilder& builder, const AttentionOperands& in, const std::vector<std::size_t>& attended) {
  const Shape query = builder.shape(in.query), value = builder.shape(in.value), key = builder.shape(in.key);
  const auto differ = [&](const Shape& a, const Shape& b, bool in_steps) {
    for (std::size_t axis = 0; axis + 1 < a.rank(); ++axis) {
      const bool is_step = std::ranges::find(attended, axis) != attended.end();
      if ((in_steps || !is_step) && a[axis] != b[axis]) return true;
    }
    return false;
  };
  if (query.rank() != value.rank() || differ(query, value, false)) {
    throw Error(fmt::format("expected query and value to differ along attended axes alone, found {} and {}",
                            builder.described(in.query), builder.described(in.value)));
  }
  if (value.rank() != key.rank() || differ(value, key, true)) {
    throw Error(fmt::format("expected as many steps in value and key, found {} and {}", builder.described(in.value),
                            builder.described(in.key)));
  }
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
              "lengths, later positions by use_causal_mask; leave it out")
      .key("dropout", &Self::dropout, "Fraction of the attention weights to drop during training.", at_least(0),
           less_than(1))
      .key("use_bias", &Self::use_bias, "Whether the projections use bias vectors.", kUseBiasAliases)
      .key("use_causal_mask", &Self::use_causal_mask,
           "Whether a position attends to no later position, as a language model needs it.")
      .key("use_query_mask", &Self::use_query_mask,
           "Whether a masked position of the query attends to nothing; false: to what the others attend to. The output "
           "has the query's mask either way.")
      .key("sliding_window", &Self::sliding_window,
           "A position attends to itself and to fewer than this many positions before and behind it, of which "
           "use_causal_mask "
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

void HeadAttentionOptions::check_axes(const LayerBuilder& builder, const AttentionOperands& in,
                                      const std::vector<std::size_t>& attended) const {
  require_alike(builder, in, attended);
  const auto needs_order = [&](std::string_view option) {
    throw Error(
        fmt::format("{} needs steps in an order, that is one attended axis, found {} of {}; name it in "
                    "attention_axes",
                    option, attended.size(), builder.described(in.query)));
  };
  if (attended.size() > 1 && use_causal_mask) needs_order("use_causal_mask");
  if (attended.size() > 1 && sliding_window) needs_order("sliding_window");
  if (attended.size() > 1 && rope_max_wavelength) needs_order("rope_max_wavelength");
  for (const std::size_t number : {std::size_t{0}, in.value_number, in.key_number}) {
    if (builder.mask(number) == kNoValue) continue;
    const Shape& mask = builder.shape(builder.mask(number));
    if (attended == std::vector<std::size_t>{0} && mask.rank() == 1) continue;
    throw Error(fmt::format(
        "what is masked is left out along one axis, the first, where attention is along that axis alone; "
        "found a mask {} and {} attended axes of {}; put the layer that masks (masking, or an embedding with "
        "mask_zero) behind this one, or do without",
        mask.text(), attended.size(), builder.described(in.query)));
  }
}

ValueId HeadAttentionOptions::attend(LayerBuilder& builder, std::span<const ValueId> sources, const Heads& heads,
                                     const std::vector<std::size_t>& attended, const Shape& features) const {
  const AttentionOperands in(sources);
  check_axes(builder, in, attended);
  const Steps query_steps(builder, in.query, attended);
  const Steps key_steps = in.key == in.query ? query_steps : Steps(builder, in.key, attended);
  const Steps value_steps = in.value == in.key ? key_steps : Steps(builder, in.value, attended);
  Projections projections(builder, *this);
  const auto projected = [&](std::string_view part, const Steps& steps, std::int64_t count, std::int64_t size) {
    return steps.beside(projections.to_heads(part, steps.rows(), count, size));
  };
  // In Keras's variable order.
  ValueId query = projected("query", query_steps, heads.of_query, heads.size);
  ValueId key = projected("key", key_steps, heads.of_source, heads.size);
  if (rope_max_wavelength) {
    query = rotated(builder, query, heads.size, *rope_max_wavelength);
    key = rotated(builder, key, heads.size, *rope_max_wavelength);
  }
  const ValueId gate = use_gate ? projected("gate", query_steps, heads.of_query, heads.value_size) : kNoValue;
  const ValueId value = projected("value", value_steps, heads.of_source, heads.value_size);

  ops::AttentionAttributes attributes{.heads = query_steps.groups() * heads.of_query,
                                      .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(heads.size))),
                                      .causal = use_causal_mask,
                                      .window = sliding_window.value_or(0)};
  // With dropout, and of inputs with more axes, Keras computes the weights explicitly, in training and evaluation.
  attributes.blind_sees_all = dropout == 0 && builder.shape(in.query).rank() == 2;
  if (builder.mode() == Mode::kTraining) {
    attributes.dropout = static_cast<float>(dropout);
    attributes.stream = builder.random_stream();
  }
  const std::int64_t sharing = heads.of_query / heads.of_source;
  if (!use_query_mask && builder.mask(0) == kNoValue) {
    builder.warn("use_query_mask: false changes nothing, as the query has no mask; leave it out");
  }
  const ValueId query_mask = use_query_mask ? builder.mask(0) : kNoValue;
  const ValueId source_mask =
      ops::both_masks(builder.graph(), builder.mask(in.value_number), builder.mask(in.key_number));
  ValueId weighted =
      builder.apply(ops::Attention(attributes),
                    {query, with_repeated_heads(builder, key, heads.size, sharing),
                     with_repeated_heads(builder, value, heads.value_size, sharing), query_mask, source_mask});
  if (use_gate) {
    const ValueId open = builder.apply(ops::Activation(ops::ActivationKind::kSigmoid), {gate});
    weighted = builder.apply(ops::Combine(ops::CombineKind::kMultiply), {weighted, open});
  }
  builder.set_output_mask(builder.mask(0));
  const ValueId rows = query_steps.rows_of(weighted);
  return query_steps.back(projections.from_heads(rows, heads.of_query, heads.value_size, features), features);
}

config::Section<MultiHeadAttention> MultiHeadAttention::section() {
  using Self = MultiHeadAttention;
  return config::Section<Self>(
             "Multi-head attention of a sequence to itself or, with `inputs: [QUERY, VALUE]`, to another; a third "
             "input is the key.")
      .key("num_heads", &Self::num_heads, "Number of attention heads.", required, at_least(1), at_most(kMostHeads),
           config::aliases("heads, n_heads, n_head, nhead"))
      .key("key_dim", &Self::key_dim, "Size of each head's queries and keys.", required, at_least(1),
           at_most(kLargestHead))
      .key("value_dim", &Self::value_dim, "Size of each head's values; null: key_dim.", at_least(1),
           at_most(kLargestHead))
      .key("output_shape", &Self::output_shape,
           "Number of output features, or the extents of several axes of them; null: as many as the query has.",
           at_least(1), at_most(kLargestHead), config::non_empty)
      .key("attention_axes", &Self::attention_axes,
           "Axis, or axes, whose positions attend to each other; 0 is the batch, -1 the features; null: all between "
           "these.")
      .check("attention_axes",
             [](const Self& layer) { return layer.attention_axes ? wrong_axes(*layer.attention_axes) : ""; })
      .include<HeadAttentionOptions>();
}

ValueId MultiHeadAttention::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  for (const ValueId source : sources) {
    if (builder.shape(source).rank() < 2) builder.sequence(source);  // throws
  }
  const Shape shape = builder.shape(sources[0]);
  std::vector<std::size_t> attended(shape.rank() - 1);
  std::iota(attended.begin(), attended.end(), 0);
  if (attention_axes) {
    try {
      attended = require_axes(builder, sources[0], *attention_axes);
    } catch (const Error& error) {
      throw Error(fmt::format("attention_axes: {}", error.what()));
    }
  }
  if (attended.back() == shape.rank() - 1) {
    throw Error(fmt::format("the last axis of {} holds the features; expected attention_axes before it",
                            builder.described(sources[0])));
  }
  Shape features{shape.back()};
  if (output_shape) {
    const auto* const one = std::get_if<std::int64_t>(&*output_shape);
    features = one != nullptr ? Shape{*one} : Shape(std::get<std::vector<std::int64_t>>(*output_shape));
  }
  return attend(builder, sources, {num_heads, num_heads, key_dim, value_dim.value_or(key_dim)}, attended, features);
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
  for (const ValueId source : sources) builder.sequence(source);
  return attend(builder, sources, {num_query_heads, num_key_value_heads, head_dim, head_dim}, {0},
                {builder.shape(sources[0]).back()});
}

}  // namespace mirrortrain::layers
