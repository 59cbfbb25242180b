#include "model/layers/bidirectional.h"

#include <fmt/format.h>

#include "base/error.h"
#include "graph/ops/arrange.h"
#include "graph/ops/combine.h"
#include "graph/ops/elementwise.h"
#include "model/layers/wrapper.h"

namespace mirrortrain::layers {
namespace {

const RecurrentOptions& common(const RecurrentLayer& layer) {
  return std::visit([](const auto& options) -> const RecurrentOptions& { return options; }, layer);
}
RecurrentOptions& common(RecurrentLayer& layer) {
  return std::visit([](auto& options) -> RecurrentOptions& { return options; }, layer);
}

std::string mismatch(const Bidirectional& wrapper) {
  if (!wrapper.backward_layer) return "";
  if (const std::string wrong = wrong_inside(common(*wrapper.backward_layer)); !wrong.empty()) return wrong;
  const RecurrentOptions &forward = common(wrapper.layer), &backward = common(*wrapper.backward_layer);
  if (forward.go_backwards == backward.go_backwards) {
    return "both layers have one direction; give one of them go_backwards: true";
  }
  if (forward.return_sequences != backward.return_sequences) {
    return "return_sequences differs from that of `layer`; make them equal";
  }
  return "";
}

ValueId build_part(LayerBuilder& builder, std::string_view part, RecurrentLayer layer, ValueId source) {
  const LayerBuilder::Part named(builder, std::string(part));
  RecurrentOptions& options = common(layer);
  // As in Keras, what is merged at padding is 0.
  options.zero_output_for_mask = options.return_sequences;
  const ValueId output = std::visit(
      [&](const auto& recurrent) {
        return recurrent.build(builder, {&source, 1});
      },
      layer);
  const bool is_reversed = options.return_sequences && options.go_backwards;
  return is_reversed ? builder.apply(ops::Flip(0), {output}) : output;
}

}  // namespace

config::Section<Bidirectional> Bidirectional::section() {
  return config::Section<Bidirectional>("A recurrent layer in both directions, whose outputs are merged.")
      .key("layer", &Bidirectional::layer, "The recurrent layer: `layer: {lstm: {units: 64}}`.", config::required)
      .key("backward_layer", &Bidirectional::backward_layer,
           "The layer of the other direction, with go_backwards: true; null: as `layer`.")
      .key("merge_mode", &Bidirectional::merge_mode, "concat: one behind the other; sum, mul, ave: element by element.")
      .check("layer", [](const Bidirectional& wrapper) { return wrong_inside(common(wrapper.layer)); })
      .check("backward_layer", mismatch)
      .include<LayerCommon>();
}

ValueId Bidirectional::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  RecurrentLayer other = layer;
  common(other).go_backwards = !common(layer).go_backwards;
  const ValueId forward = build_part(builder, "forward", layer, sources[0]);
  const ValueId backward = build_part(builder, "backward", backward_layer.value_or(other), sources[0]);
  if (merge_mode != MergeMode::kConcat && builder.shape(forward) != builder.shape(backward)) {
    throw Error(
        fmt::format("the outputs of both directions are merged element by element; expected equal units, found {} "
                    "and {} of backward_layer; make them equal, or write merge_mode: concat",
                    common(layer).units, common(*backward_layer).units));
  }
  builder.set_output_mask(common(layer).return_sequences ? builder.mask(0) : kNoValue);
  switch (merge_mode) {
    case MergeMode::kConcat:
      return builder.apply(ops::Concatenate(common(layer).return_sequences ? 1 : 0), {forward, backward});
    case MergeMode::kMul: return builder.apply(ops::Combine(ops::CombineKind::kMultiply), {forward, backward});
    case MergeMode::kSum: return builder.apply(ops::AddN{}, {forward, backward});
    case MergeMode::kAve: break;
  }
  return builder.apply(ops::Scale(0.5f), {builder.apply(ops::AddN{}, {forward, backward})});
}

}  // namespace mirrortrain::layers
