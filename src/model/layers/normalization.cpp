#include "model/layers/normalization.h"

#include <fmt/format.h>

#include <cstddef>

#include "base/error.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/group_norm.h"
#include "model/formula/formula_graph.h"
#include "model/key_aliases.h"

namespace mirrortrain::layers {
namespace {

constexpr std::string_view kAxisHelp = "Axis, or axes, over which to normalize; 0 is the batch, -1 the last axis.";

/// The axes that are normalized as the last one.
class LastAxis {
 public:
  LastAxis(LayerBuilder& builder, ValueId source, const Axes& axis)
      : builder_(builder), axes_(require_axes(builder, source, axis)), moved_(builder, source, axes_) {
    shape_ = builder.shape(moved_.value());
    for (const std::size_t one : axes_) extents_.push_back(builder.shape(source)[one]);
  }

  ValueId value() const {
    if (axes_.size() == 1) return moved_.value();
    std::vector<std::int64_t> dims(shape_.begin(), shape_.end() - static_cast<std::ptrdiff_t>(axes_.size()));
    dims.push_back(Shape(extents_).elements());
    return builder_.apply(ops::Reshape(Shape(dims)), {moved_.value()});
  }
  ValueId back(ValueId normalized) const {
    return moved_.back(axes_.size() == 1 ? normalized : builder_.apply(ops::Reshape(shape_), {normalized}));
  }
  /// Of a weight.
  Shape extents() const { return Shape(extents_); }
  /// A weight of these extents, or none, as one axis.
  ValueId as_last(ValueId weight) const {
    if (axes_.size() == 1 || weight == kNoValue) return weight;
    return builder_.apply(ops::Reshape({extents().elements()}), {weight});
  }

 private:
  LayerBuilder& builder_;
  std::vector<std::size_t> axes_;
  MovedAxes moved_;
  Shape shape_;  ///< with the axes behind the others
  std::vector<std::int64_t> extents_;
};

ValueId apply_formula(LayerBuilder& builder, const std::string& formula, formula::Values values) {
  const DType dtype = builder.graph().spec(values.at("x")).dtype;
  return formula::add_formula(builder.graph(), formula, values, dtype);
}

}  // namespace

config::Section<GammaAndBeta> GammaAndBeta::section() {
  using Self = GammaAndBeta;
  constexpr std::string_view kNoBeta = "there is no beta, as center is false; remove one of the two";
  constexpr std::string_view kNoGamma = "there is no gamma, as scale is false; remove one of the two";
  const auto without = [](std::string_view error, bool is_missing, bool is_given) {
    return std::string(is_missing && is_given ? error : "");
  };
  return config::Section<Self>("Scale and offset of normalized values.")
      .key("center", &Self::center, "Whether to add the offset beta.")
      .key("scale", &Self::scale, "Whether to multiply by gamma.")
      .key("beta_initializer", &Self::beta_initializer, "Initializer of beta.")
      .key("gamma_initializer", &Self::gamma_initializer, "Initializer of gamma.")
      .key("beta_regularizer", &Self::beta_regularizer, "Regularizer of beta; null: none.")
      .key("gamma_regularizer", &Self::gamma_regularizer, "Regularizer of gamma; null: none.")
      .key("beta_constraint", &Self::beta_constraint, "Constraint of beta after each update; null: none.")
      .key("gamma_constraint", &Self::gamma_constraint, "Constraint of gamma after each update; null: none.")
      .check("beta_initializer",
             [=](const Self& layer) {
               return without(kNoBeta, !layer.center,
                              !std::holds_alternative<initializers::Zeros>(layer.beta_initializer));
             })
      .check("gamma_initializer",
             [=](const Self& layer) {
               return without(kNoGamma, !layer.scale,
                              !std::holds_alternative<initializers::Ones>(layer.gamma_initializer));
             })
      .check("beta_regularizer",
             [=](const Self& layer) { return without(kNoBeta, !layer.center, layer.beta_regularizer.has_value()); })
      .check("gamma_regularizer",
             [=](const Self& layer) { return without(kNoGamma, !layer.scale, layer.gamma_regularizer.has_value()); })
      .check("beta_constraint",
             [=](const Self& layer) { return without(kNoBeta, !layer.center, layer.beta_constraint.has_value()); })
      .check("gamma_constraint",
             [=](const Self& layer) { return without(kNoGamma, !layer.scale, layer.gamma_constraint.has_value()); });
}

ValueId GammaAndBeta::gamma(LayerBuilder& builder, const Shape& shape) const {
  return scale ? builder.weight("gamma", shape, gamma_initializer, gamma_regularizer, gamma_constraint) : kNoValue;
}

ValueId GammaAndBeta::beta(LayerBuilder& builder, const Shape& shape) const {
  return center ? builder.weight("beta", shape, beta_initializer, beta_regularizer, beta_constraint) : kNoValue;
}

config::Section<ExampleNormOptions> ExampleNormOptions::section() {
  using Options = ExampleNormOptions;
  return config::Section<Options>("A normalization of each example alone.")
      .key("epsilon", &Options::epsilon, "Small constant added to the variance to avoid dividing by zero.",
           config::at_least(0), kEpsilonAliases)
      .include<GammaAndBeta>()
      .include<LayerCommon>();
}

ValueId ExampleNormOptions::normalize(LayerBuilder& builder, ValueId source, const Axes& axis, std::int64_t groups,
                                      bool by_position) const {
  const LastAxis lines(builder, source, axis);
  const ValueId of_gamma = lines.as_last(gamma(builder, lines.extents()));
  const ValueId of_beta = lines.as_last(beta(builder, lines.extents()));
  const ops::GroupNorm norm({groups, by_position, static_cast<float>(epsilon)});
  return lines.back(builder.apply(norm, {lines.value(), of_gamma, of_beta}));
}

config::Section<LayerNormalization> LayerNormalization::section() {
  return config::Section<LayerNormalization>("Layer normalization: normalizes axes of each example.")
      .key("axis", &LayerNormalization::axis, kAxisHelp)
      .check("axis", [](const LayerNormalization& layer) { return wrong_axes(layer.axis); })
      .include<ExampleNormOptions>();
}

ValueId LayerNormalization::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  return normalize(builder, sources[0], axis, 1, true);
}

config::Section<GroupNormalization> GroupNormalization::section() {
  return config::Section<GroupNormalization>(
             "Group normalization: normalizes groups of channels of each example, over all positions.")
      .key("groups", &GroupNormalization::groups,
           "Number of groups into which the channels are split; -1: one for each channel.", config::at_least(-1),
           kGroupsAliases)
      .key("axis", &GroupNormalization::axis, "Axis of the channels; 0 is the batch, -1 the last axis.")
      .check("groups",
             [](const GroupNormalization& layer) { return std::string(layer.groups == 0 ? "0 groups are none" : ""); })
      .include<ExampleNormOptions>();
}

ValueId GroupNormalization::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const std::size_t of_channels = require_axis(builder, sources[0], axis);
  const std::int64_t channels = builder.shape(sources[0])[of_channels], count = groups == -1 ? channels : groups;
  if (channels % count != 0) throw Error(fmt::format("{} channels cannot be split into {} groups", channels, count));
  return normalize(builder, sources[0], axis, count, false);
}

config::Section<RmsNormalization> RmsNormalization::section() {
  return config::Section<RmsNormalization>(
             "Root mean square normalization: divides by the root of the mean of the squares, and scales.")
      .key("axis", &RmsNormalization::axis, kAxisHelp)
      .key("epsilon", &RmsNormalization::epsilon, "Small constant added to the mean of the squares.",
           config::at_least(0), kEpsilonAliases)
      .check("axis", [](const RmsNormalization& layer) { return wrong_axes(layer.axis); })
      .include<LayerCommon>();
}

ValueId RmsNormalization::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const LastAxis lines(builder, sources[0], axis);
  const ValueId scale = lines.as_last(builder.weight("scale", lines.extents(), initializers::Ones{}));
  const std::string formula = fmt::format("x * rsqrt(mean(square(x), axis=-1, keepdims=true) + {}) * scale", epsilon);
  return lines.back(apply_formula(builder, formula, {{"x", lines.value()}, {"scale", scale}}));
}

config::Section<UnitNormalization> UnitNormalization::section() {
  return config::Section<UnitNormalization>("Scales each example to length 1 along axes.")
      .key("axis", &UnitNormalization::axis, kAxisHelp)
      .check("axis", [](const UnitNormalization& layer) { return wrong_axes(layer.axis); })
      .include<LayerCommon>();
}

ValueId UnitNormalization::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const LastAxis lines(builder, sources[0], axis);
  constexpr const char* kFormula = "x * minimum(rsqrt(sum(square(x), axis=-1, keepdims=true)), 1e12)";
  return lines.back(apply_formula(builder, kFormula, {{"x", lines.value()}}));
}

}  // namespace mirrortrain::layers
