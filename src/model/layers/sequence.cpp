#include "model/layers/sequence.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/ops/arrange.h"
#include "graph/ops/combine.h"

namespace mirrortrain::layers {

config::Section<ClassToken> ClassToken::section() {
  return config::Section<ClassToken>(
             "Puts a trained vector before each sequence, from which a transformer's output for the class is read.")
      .key("initializer", &ClassToken::initializer, "Initializer of the vector.")
      .include<LayerCommon>();
}

ValueId ClassToken::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const Shape sequence = builder.sequence(sources[0]);
  const ValueId token = builder.weight("token", {1, sequence[1]}, initializer);
  // Each padded with zeros in place of the other.
  const ValueId behind = builder.apply(ops::Pad({1, 0}, {0, 0}), {sources[0]});
  const ValueId before = builder.apply(ops::Pad({0, 0}, {sequence[0], 0}), {token});
  return builder.apply(ops::Combine(ops::CombineKind::kAdd), {behind, before});
}

config::Section<Cropping1d> Cropping1d::section() {
  return config::Section<Cropping1d>("Crops a sequence along its steps.")
      .key("cropping", &Cropping1d::cropping,
           "Number of steps to remove at the beginning and at the end: N for both or [BEGINNING, END].",
           config::scalar_fills, config::at_least(0))
      .include<LayerCommon>();
}

ValueId Cropping1d::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const Shape& sequence = builder.sequence(sources[0]);
  if (cropping[0] >= sequence[0] || cropping[1] >= sequence[0] - cropping[0]) {
    throw Error(fmt::format("expected a sequence of more than the {} + {} steps that are removed, found {}",
                            cropping[0], cropping[1], builder.described(sources[0])));
  }
  return builder.apply(ops::Crop({cropping[0], 0}, {cropping[1], 0}), {sources[0]});
}

}  // namespace mirrortrain::layers
