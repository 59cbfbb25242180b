#include "model/layers/dense.h"

#include "graph/ops/dense.h"

namespace mirrortrain::layers {

config::Section<Dense> Dense::section() {
  return config::Section<Dense>("Fully connected layer: activation(dot(x, kernel) + bias) along the last axis.")
      .key("units", &Dense::units, "Number of output features.", config::required, config::at_least(1))
      .key("activation", &Dense::activation, "Activation applied to the output.")
      .key("use_bias", &Dense::use_bias, "Whether the layer uses a bias vector.")
      .key("kernel_initializer", &Dense::kernel_initializer, "Initializer of the kernel.")
      .key("bias_initializer", &Dense::bias_initializer, "Initializer of the bias.")
      .key("kernel_regularizer", &Dense::kernel_regularizer, "Regularizer of the kernel; null: none.")
      .key("kernel_constraint", &Dense::kernel_constraint, "Constraint of the kernel after each update; null: none.")
      .key("bias_regularizer", &Dense::bias_regularizer, "Regularizer of the bias; null: none.")
      .key("bias_constraint", &Dense::bias_constraint, "Constraint of the bias after each update; null: none.")
      .check("bias_initializer", [](const Dense& layer) { return without_bias(layer); })
      .check("bias_regularizer",
             [](const Dense& layer) { return without_bias(layer, layer.bias_regularizer.has_value()); })
      .check("bias_constraint",
             [](const Dense& layer) { return without_bias(layer, layer.bias_constraint.has_value()); })
      .include<LayerCommon>();
}

ValueId Dense::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const std::int64_t in = builder.features(sources[0]).back();
  const ValueId kernel =
      builder.weight("kernel", {in, units}, kernel_initializer, kernel_regularizer, kernel_constraint);
  const ValueId bias =
      use_bias ? builder.weight("bias", {units}, bias_initializer, bias_regularizer, bias_constraint) : kNoValue;
  return apply_activation(builder.graph(), activation, builder.apply(ops::Dense(), {sources[0], kernel, bias}));
}

}  // namespace mirrortrain::layers
