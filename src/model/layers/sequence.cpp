#include "model/layers/sequence.h"

#include <fmt/format.h>

#include "base/bfloat16.h"
#include "base/error.h"
#include "graph/ops/arrange.h"
#include "graph/ops/combine.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/mask.h"
#include "model/formula/formula_graph.h"
#include "model/layers/along_axis.h"
#include "model/padding.h"

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

config::Section<RepeatVector> RepeatVector::section() {
  return config::Section<RepeatVector>("Repeats a vector at each position of a sequence.")
      .key("n", &RepeatVector::n, "Number of steps.", config::required, config::at_least(1),
           config::at_most(kLongestWindow), config::aliases("repeats, times"))
      .include<LayerCommon>();
}

ValueId RepeatVector::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const Shape& shape = builder.shape(sources[0]);
  if (shape.rank() != 1) {
    throw WrongRank(fmt::format("expected a vector [features], found the shape {}", builder.described(sources[0])));
  }
  return copies(builder.graph(), builder.apply(ops::Reshape({1, shape[0]}), {sources[0]}), 0, n);
}

config::Section<MaskByValue> MaskByValue::section() {
  return config::Section<MaskByValue>("Masks the positions of a sequence that are padding, by their value.")
      .key("mask_value", &MaskByValue::mask_value, "A position whose channels all have this value is padding.")
      .include<LayerCommon>();
}

ValueId MaskByValue::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  builder.features(sources[0]);
  if (builder.shape(sources[0]).rank() < 2) {
    throw WrongRank(
        fmt::format("expected sequences [steps, ..., channels], found the shape {}", builder.described(sources[0])));
  }
  ValueId x = sources[0];
  auto value = static_cast<float>(mask_value);
  if (builder.graph().spec(x).dtype == DType::kBfloat16) {
    x = builder.apply(ops::Cast(DType::kFloat32), {x});
    value = static_cast<float>(bfloat16(value));  // as the input's numbers were rounded
  }
  const std::string distance = fmt::format("max(abs(x - {}), axis=-1)", value);
  const ValueId from_value = formula::add_formula(builder.graph(), distance, {{"x", x}}, DType::kFloat32);
  builder.set_output_mask(builder.apply(ops::PaddingMask(), {from_value}));
  return builder.apply(ops::Select(0), {builder.output_mask(), sources[0], kNoValue});
}

}  // namespace mirrortrain::layers
