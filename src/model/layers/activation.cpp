#include "model/layers/activation.h"

#include "base/error.h"
#include "graph/ops/elementwise.h"
#include "model/key_aliases.h"

namespace mirrortrain::layers {

config::Section<Activation> Activation::section() {
  return config::Section<Activation>("Applies an activation function.")
      .advice(
          "negative_slope",
          "leaky_relu's slope below 0 is 0.2; another slope is - expression: {formula: \"maximum(x, 0.1 * x)\"}, and a "
          "prelu layer learns one")
      .key("activation", &Activation::activation, "The activation function.", config::required, kActivationAliases)
      .include<LayerCommon>();
}

ValueId Activation::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  if (activation == ActivationName::kSoftmax) builder.features(sources[0]);
  return apply_activation(builder.graph(), activation, sources[0]);
}

config::Section<Softmax> Softmax::section() {
  return config::Section<Softmax>("Softmax over the last axis: exp(x) / sum(exp(x)).").include<LayerCommon>();
}

ValueId Softmax::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  builder.features(sources[0]);
  if (builder.has_masks()) {
    throw Error(
        "a softmax layer would leave out what the mask leaves out of the last axis, but the mask that its input "
        "carries is one of steps, which Keras refuses; use `activation: {activation: softmax}`, which passes the mask "
        "on");
  }
  return builder.apply(ops::Softmax{}, {sources[0]});
}

}  // namespace mirrortrain::layers
