#include "model/layers/activation.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/ops/elementwise.h"
#include "model/formula/formula_graph.h"
#include "model/key_aliases.h"
#include "model/layers/moved_axes.h"

namespace mirrortrain::layers {
namespace {

ValueId apply_kind(LayerBuilder& builder, ops::ActivationKind kind, ValueId x) {
  return builder.apply(ops::Activation(kind), {x});
}

ValueId apply_formula(LayerBuilder& builder, const std::string& formula, ValueId x) {
  return formula::add_formula(builder.graph(), formula, {{"x", x}}, builder.graph().spec(x).dtype);
}

constexpr float kLeakySlope = 0.2f;  ///< of the activation leaky_relu

}  // namespace

config::Section<Activation> Activation::section() {
  return config::Section<Activation>("Applies an activation function.")
      .advice("negative_slope",
              "leaky_relu's slope below 0 is 0.2; the layer leaky_relu: {negative_slope: 0.1} has another, and a prelu "
              "layer learns one")
      .key("activation", &Activation::activation, "The activation function.", config::required, kActivationAliases)
      .include<LayerCommon>();
}

ValueId Activation::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  if (works_along_last_axis(activation)) builder.features(sources[0]);
  return apply_activation(builder.graph(), activation, sources[0]);
}

config::Section<Relu> Relu::section() {
  return config::Section<Relu>(
             "Rectified linear unit: x above the threshold, at most max_value; negative_slope * (x - threshold) below.")
      .key("max_value", &Relu::max_value, "The largest output; null: none.", config::at_least(0))
      .key("negative_slope", &Relu::negative_slope, "Slope below the threshold.", config::at_least(0))
      .key("threshold", &Relu::threshold, "The value above which the output is x.", config::at_least(0))
      .include<LayerCommon>();
}

ValueId Relu::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  if (!max_value && negative_slope == 0 && threshold == 0) {
    return apply_kind(builder, ops::ActivationKind::kRelu, sources[0]);
  }
  if (max_value == 6.0 && negative_slope == 0 && threshold == 0) {
    return apply_kind(builder, ops::ActivationKind::kRelu6, sources[0]);
  }
  const std::string above = max_value ? fmt::format("minimum(x, {})", *max_value) : "x";
  return apply_formula(builder, fmt::format("where(x > {0}, {1}, {2} * (x - {0}))", threshold, above, negative_slope),
                       sources[0]);
}

config::Section<LeakyRelu> LeakyRelu::section() {
  return config::Section<LeakyRelu>(
             "Leaky rectified linear unit: x where it is positive, negative_slope * x elsewhere.")
      .key("negative_slope", &LeakyRelu::negative_slope, "Slope below 0.", config::at_least(0),
           config::aliases("alpha, slope"))
      .include<LayerCommon>();
}

ValueId LeakyRelu::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  if (negative_slope == kLeakySlope) return apply_kind(builder, ops::ActivationKind::kLeakyRelu, sources[0]);
  return apply_formula(builder, fmt::format("where(x > 0, x, {} * x)", negative_slope), sources[0]);
}

config::Section<Elu> Elu::section() {
  return config::Section<Elu>("Exponential linear unit: x where it is positive, alpha * (exp(x) - 1) elsewhere.")
      .key("alpha", &Elu::alpha, "Minus the limit of the output as x decreases.")
      .include<LayerCommon>();
}

ValueId Elu::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  if (alpha == 1) return apply_kind(builder, ops::ActivationKind::kElu, sources[0]);
  return apply_formula(builder, fmt::format("where(x > 0, x, {} * expm1(minimum(x, 0)))", alpha), sources[0]);
}

config::Section<Identity> Identity::section() {
  return config::Section<Identity>("Its input, for another name of it.").include<LayerCommon>();
}

ValueId Identity::build(LayerBuilder&, std::span<const ValueId> sources) const { return sources[0]; }

config::Section<ActivityRegularization> ActivityRegularization::section() {
  return config::Section<ActivityRegularization>(
             "Its input, which adds l1 * sum(|x|) + l2 * sum(x^2) of each example to its loss.")
      .key("l1", &ActivityRegularization::l1, "L1 regularization factor.", config::at_least(0))
      .key("l2", &ActivityRegularization::l2, "L2 regularization factor, without a factor of 1/2.", config::at_least(0))
      .include<LayerCommon>();
}

ValueId ActivityRegularization::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  builder.regularize(sources[0], {l1, l2});
  return sources[0];
}

config::Section<Softmax> Softmax::section() {
  return config::Section<Softmax>("Softmax over an axis: exp(x) / sum(exp(x)).")
      .key("axis", &Softmax::axis, "Axis over which the outputs add up to 1; 0 is the batch, -1 the last axis.")
      .include<LayerCommon>();
}

ValueId Softmax::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  builder.features(sources[0]);
  if (builder.has_masks()) {
    throw Error(
        "a softmax layer would leave out what the mask leaves out of the last axis, but the mask that its input "
        "carries is one of steps, which Keras refuses; use `activation: {activation: softmax}`, which passes the mask "
        "on");
  }
  const MovedAxes moved(builder, sources[0], {require_axis(builder, sources[0], axis)});
  return moved.back(builder.apply(ops::Softmax{}, {moved.value()}));
}

}  // namespace mirrortrain::layers
