#include "model/layers/dense.h"

#include "graph/ops/dense.h"

namespace mirrortrain::layers {

config::Section<Dense> Dense::section() {
  return config::Section<Dense>("Fully connected: activation(x . kernel + bias) on the last axis.")
      .key("units", &Dense::units, "Number of outputs.", config::required, config::at_least(1))
      .key("activation", &Dense::activation, "What follows.")
      .key("use_bias", &Dense::use_bias, "Whether a bias is added.")
      .key("kernel_initializer", &Dense::kernel_initializer, "How the kernel starts.")
      .key("bias_initializer", &Dense::bias_initializer, "How the bias starts.")
      .key("kernel_regularizer", &Dense::kernel_regularizer, "What the kernel adds to the loss.")
      .include<LayerCommon>();
}

ValueId Dense::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const std::int64_t in = builder.features(sources[0]).back();
  const ValueId kernel = builder.weight("kernel", {in, units}, kernel_initializer, kernel_regularizer);
  const ValueId bias = use_bias ? builder.weight("bias", {units}, bias_initializer) : kNoValue;
  return apply_activation(builder.graph(), activation, builder.apply(ops::Dense(), {sources[0], kernel, bias}));
}

}  // namespace mirrortrain::layers
