#include "model/layers/dense.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/ops/dense.h"
#include "model/key_aliases.h"

namespace mirrortrain::layers {
namespace {

/// The error of an option of the kernel given although the kernel is an embedding's table; else empty.
std::string of_table(const Dense& layer, bool is_given) {
  return is_given && layer.tied_to ? "the kernel is the table that tied_to names; give its option to the embedding"
                                   : "";
}

}  // namespace

config::Section<Dense> Dense::section() {
  return config::Section<Dense>("Fully connected layer: activation(dot(x, kernel) + bias) along the last axis.")
      .key("units", &Dense::units, "Number of output features.", config::required, config::at_least(1), kUnitsAliases)
      .key("activation", &Dense::activation, "Activation applied to the output.", kActivationAliases)
      .key("use_bias", &Dense::use_bias, "Whether the layer uses a bias vector.", kUseBiasAliases)
      .key("tied_to", &Dense::tied_to,
           "Whole name of an embedding whose table, transposed, is the kernel, as in a language model whose output "
           "layer has the weights of its input; null: a kernel of this layer's own.")
      .key("kernel_initializer", &Dense::kernel_initializer, "Initializer of the kernel.", kKernelInitializerAliases)
      .key("bias_initializer", &Dense::bias_initializer, "Initializer of the bias.")
      .key("kernel_regularizer", &Dense::kernel_regularizer, "Regularizer of the kernel; null: none.")
      .key("kernel_constraint", &Dense::kernel_constraint, "Constraint of the kernel after each update; null: none.")
      .key("bias_regularizer", &Dense::bias_regularizer, "Regularizer of the bias; null: none.")
      .key("bias_constraint", &Dense::bias_constraint, "Constraint of the bias after each update; null: none.")
      .include<Lora>()
      .check("lora_rank", [](const Dense& layer) { return of_table(layer, layer.lora_rank.has_value()); })
      .check("kernel_constraint", [](const Dense& layer) { return with_lora(layer, layer.kernel_constraint); })
      .check("bias_initializer", [](const Dense& layer) { return without_bias(layer); })
      .check("kernel_initializer",
             [](const Dense& layer) {
               return of_table(layer, !std::holds_alternative<initializers::GlorotUniform>(layer.kernel_initializer));
             })
      .check("kernel_regularizer",
             [](const Dense& layer) { return of_table(layer, layer.kernel_regularizer.has_value()); })
      .check("kernel_constraint",
             [](const Dense& layer) { return of_table(layer, layer.kernel_constraint.has_value()); })
      .check("trainable", [](const Dense& layer) { return of_table(layer, !layer.trainable && !layer.use_bias); })
      .check("bias_regularizer",
             [](const Dense& layer) { return without_bias(layer, layer.bias_regularizer.has_value()); })
      .check("bias_constraint",
             [](const Dense& layer) { return without_bias(layer, layer.bias_constraint.has_value()); })
      .include<LayerCommon>();
}

ValueId Dense::multiply_by_table(LayerBuilder& builder, ValueId x) const {
  const ValueId table = builder.weight_of(*tied_to, "embeddings");
  const Shape wanted{units, builder.shape(x).back()};
  if (builder.shape(table) != wanted) {
    throw Error(fmt::format("{} units of the input shape {} need a table {}, found {} of '{}'", units,
                            builder.described(x), wanted.text(), builder.shape(table).text(), *tied_to));
  }
  if (builder.find_weight(*tied_to, "lora_embeddings_a") != kNoValue) {
    throw Error(fmt::format("'{}' has lora_rank, so that its table is a sum; expected a table that is trained itself",
                            *tied_to));
  }
  const ValueId y = builder.apply(ops::DenseInputGradient(), {x, table});
  if (!use_bias) return y;
  const ValueId bias = builder.weight("bias", {units}, bias_initializer, bias_regularizer, bias_constraint);
  return builder.plus_along_last(y, bias);
}

ValueId Dense::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const std::int64_t in = builder.features(sources[0]).back();
  if (tied_to) return apply_activation(builder.graph(), activation, multiply_by_table(builder, sources[0]));
  const ValueId kernel =
      weight(builder, "kernel", {in, units}, kernel_initializer, kernel_regularizer, kernel_constraint);
  const ValueId bias =
      use_bias ? builder.weight("bias", {units}, bias_initializer, bias_regularizer, bias_constraint) : kNoValue;
  return apply_activation(builder.graph(), activation, builder.apply(ops::Dense(), {sources[0], kernel, bias}));
}

}  // namespace mirrortrain::layers
