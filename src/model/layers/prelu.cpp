#include "model/layers/prelu.h"

#include <fmt/format.h>

#include "base/axes.h"
#include "base/error.h"
#include "graph/ops/combine.h"
#include "graph/ops/elementwise.h"

namespace mirrortrain::layers {

config::Section<Prelu> Prelu::section() {
  return config::Section<Prelu>("Parametric ReLU: x where it is positive, alpha * x elsewhere, with a trained alpha.")
      .key("alpha_initializer", &Prelu::alpha_initializer, "Initializer of alpha.")
      .key("alpha_regularizer", &Prelu::alpha_regularizer, "Regularizer of alpha; null: none.")
      .key("alpha_constraint", &Prelu::alpha_constraint, "Constraint of alpha after each update; null: none.")
      .key("shared_axes", &Prelu::shared_axes, "Axes, counted from 1, along which one alpha serves all elements.",
           config::at_least(1))
      .check("shared_axes", [](const Prelu& layer) { return repeated_axis(layer.shared_axes); })
      .include<LayerCommon>();
}

ValueId Prelu::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  Shape shape = builder.features(sources[0]);
  for (const std::int64_t axis : shared_axes) {
    if (static_cast<std::size_t>(axis) > shape.rank()) {
      throw Error(
          fmt::format("there is no axis {} to share in the input shape {}", axis, builder.described(sources[0])));
    }
    shape[static_cast<std::size_t>(axis - 1)] = 1;
  }
  const ValueId alpha = builder.weight("alpha", shape, alpha_initializer, alpha_regularizer, alpha_constraint);
  const ops::Activation relu(ops::ActivationKind::kRelu);
  const ops::Scale negated(-1);
  const ValueId positive = builder.apply(relu, {sources[0]});
  const ValueId negative = builder.apply(negated, {builder.apply(relu, {builder.apply(negated, {sources[0]})})});
  return builder.apply(ops::AddN{},
                       {positive, builder.apply(ops::Combine(ops::CombineKind::kMultiply), {negative, alpha})});
}

}  // namespace mirrortrain::layers
