#include "model/layers/attention.h"

#include <fmt/format.h>

#include <cmath>

#include "graph/ops/attention.h"
#include "graph/ops/dense.h"
#include "graph/ops/elementwise.h"
#include "model/key_aliases.h"

namespace mirrortrain::layers {

config::Section<MultiHeadAttention> MultiHeadAttention::section() {
  using Self = MultiHeadAttention;
  return config::Section<Self>(
             "Multi-head attention of a sequence to itself or, with `inputs: [QUERY, VALUE]`, to another.")
      .key("num_heads", &Self::num_heads, "Number of attention heads.", config::required, config::at_least(1),
           config::at_most(1 << 16))
      .key("key_dim", &Self::key_dim, "Size of each head's queries and keys.", config::required, config::at_least(1),
           config::at_most(1 << 20))
      .key("value_dim", &Self::value_dim, "Size of each head's values; null: key_dim.", config::at_least(1),
           config::at_most(1 << 20))
      .key("dropout", &Self::dropout, "Fraction of the attention weights to drop during training.", config::at_least(0),
           config::less_than(1))
      .key("use_bias", &Self::use_bias, "Whether the projections use bias vectors.", kUseBiasAliases)
      .key("use_causal_mask", &Self::use_causal_mask,
           "Whether a step attends to no later step, as a language model needs it.")
      .key("kernel_initializer", &Self::kernel_initializer, "Initializer of the projections' kernels.",
           kKernelInitializerAliases)
      .key("bias_initializer", &Self::bias_initializer, "Initializer of the biases.")
      .key("kernel_regularizer", &Self::kernel_regularizer, "Regularizer of the kernels; null: none.")
      .key("bias_regularizer", &Self::bias_regularizer, "Regularizer of the biases; null: none.")
      .check("bias_initializer", [](const Self& layer) { return without_bias(layer); })
      .check("bias_regularizer",
             [](const Self& layer) { return without_bias(layer, layer.bias_regularizer.has_value()); })
      .include<LayerCommon>();
}

ValueId MultiHeadAttention::project(LayerBuilder& builder, std::string_view to, ValueId x, std::int64_t dim) const {
  const std::int64_t in = builder.sequence(x).back();
  const ValueId kernel =
      builder.weight(fmt::format("{}/kernel", to), {in, num_heads, dim}, kernel_initializer, kernel_regularizer);
  std::vector<ValueId> operands{x, builder.apply(ops::Reshape({in, num_heads * dim}), {kernel})};
  if (use_bias) {
    const ValueId bias =
        builder.weight(fmt::format("{}/bias", to), {num_heads, dim}, bias_initializer, bias_regularizer);
    operands.push_back(builder.apply(ops::Reshape({num_heads * dim}), {bias}));
  }
  return builder.apply(ops::Dense(), std::move(operands));
}

ValueId MultiHeadAttention::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const ValueId value = sources.back();
  const std::int64_t channels = builder.sequence(sources[0]).back(), of_value = value_dim.value_or(key_dim);
  ops::AttentionAttributes attributes{.heads = num_heads,
                                      .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(key_dim))),
                                      .causal = use_causal_mask};
  // With dropout, Keras computes the weights explicitly, in training and evaluation.
  attributes.blind_sees_all = dropout == 0;
  if (builder.mode() == Mode::kTraining) {
    attributes.dropout = static_cast<float>(dropout);
    attributes.stream = builder.random_stream();
  }
  // In Keras's variable order.
  const ValueId query = project(builder, "query", sources[0], key_dim);
  const ValueId keys = project(builder, "key", value, key_dim);
  const ValueId values = project(builder, "value", value, of_value);
  const ValueId attended = builder.apply(ops::Attention(attributes),
                                         {query, keys, values, builder.mask(0), builder.mask(sources.size() - 1)});
  builder.set_output_mask(builder.mask(0));
  const ValueId kernel = builder.weight("attention_output/kernel", {num_heads, of_value, channels}, kernel_initializer,
                                        kernel_regularizer);
  const ValueId bias =
      use_bias ? builder.weight("attention_output/bias", {channels}, bias_initializer, bias_regularizer) : kNoValue;
  return builder.apply(ops::Dense(),
                       {attended, builder.apply(ops::Reshape({num_heads * of_value, channels}), {kernel}), bias});
}

}  // namespace mirrortrain::layers
