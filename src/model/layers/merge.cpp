#include "model/layers/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/axes.h"
#include "base/error.h"
#include "graph/ops/arrange.h"
#include "graph/ops/combine.h"
#include "graph/ops/elementwise.h"
#include "graph/ops/mask.h"

namespace mirrortrain::layers {
namespace {

using ops::CombineKind;

Error mismatch(const LayerBuilder& builder, std::string_view expected, ValueId a, ValueId b) {
  return Error(fmt::format("expected inputs {}, found the shapes {} and {}", expected, builder.described(a),
                           builder.described(b)));
}

/// The value with leading axes of 1, so that it has `rank` axes.
ValueId with_rank(LayerBuilder& builder, ValueId value, std::size_t rank) {
  const Shape& shape = builder.shape(value);
  if (shape.rank() == rank) return value;
  return builder.apply(ops::Reshape(ops::with_rank(shape, rank)), {value});
}

/// The inputs with equal rank. Throws Error if they cannot be broadcast to one shape.
std::vector<ValueId> alike(LayerBuilder& builder, std::span<const ValueId> sources) {
  std::size_t rank = 0;
  for (const ValueId source : sources) rank = std::max(rank, builder.shape(source).rank());
  std::vector<ValueId> values;
  for (const ValueId source : sources) values.push_back(with_rank(builder, source, rank));
  Shape shape = builder.shape(values[0]);
  for (std::size_t i = 1; i < values.size(); ++i) {
    const auto common = ops::common_shape(shape, builder.shape(values[i]));
    if (!common) throw mismatch(builder, "of one shape, or with 1 where they differ", sources[0], sources[i]);
    shape = *common;
  }
  return values;
}

/// The mask of the positions that count in `a` or in `b`.
ValueId either(LayerBuilder& builder, ValueId a, ValueId b) {
  return a == b ? a : builder.apply(ops::Combine(CombineKind::kMaximum), {a, b});
}

/// As in Keras, the output has a mask if all inputs do: of the positions that count in any of them.
void merge_masks(LayerBuilder& builder, std::span<const ValueId> sources) {
  if (!builder.has_masks()) return;
  ValueId merged = builder.mask(0);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const ValueId mask = builder.mask(i);
    if (mask == kNoValue) {
      return builder.warn_of_lost_mask(
          fmt::format("the input of shape {} carries none", builder.described(sources[i])));
    }
    if (builder.shape(mask) != builder.shape(merged)) {
      throw mismatch(builder, "whose masks are of one shape", sources[0], sources[i]);
    }
    merged = either(builder, merged, mask);
  }
  builder.set_output_mask(merged);
}

ValueId combine_all(LayerBuilder& builder, CombineKind kind, const std::vector<ValueId>& values) {
  ValueId all = values[0];
  for (std::size_t i = 1; i < values.size(); ++i) all = builder.apply(ops::Combine(kind), {all, values[i]});
  return all;
}

/// The mask of inputs concatenated along `axis` of an example.
void join_masks(LayerBuilder& builder, std::span<const ValueId> sources, std::size_t axis) {
  if (!builder.has_masks()) return;
  const bool joins_features = axis + 1 == builder.shape(sources[0]).rank();
  // An input without a mask counts everywhere, and a position counts if it does in any input.
  if (joins_features) return merge_masks(builder, sources);
  std::vector<ValueId> masks;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Shape& shape = builder.shape(sources[i]);
    masks.push_back(builder.mask(i) != kNoValue
                        ? builder.mask(i)
                        : builder.apply(ops::FullMask(Shape({shape.begin(), shape.end() - 1})), {sources[i]}));
  }
  builder.set_output_mask(builder.apply(ops::Concatenate(axis), std::move(masks)));
}

/// The values, with `otherwise` at the positions that their masks, if any, exclude.
std::vector<ValueId> with_masked_as(LayerBuilder& builder, std::span<const ValueId> values,
                                    const std::vector<ValueId>& masks, float otherwise) {
  std::vector<ValueId> filled(values.begin(), values.end());
  for (std::size_t i = 0; i < filled.size(); ++i) {
    if (masks[i] != kNoValue) filled[i] = builder.apply(ops::Select(otherwise), {masks[i], filled[i], kNoValue});
  }
  return filled;
}

std::vector<ValueId> masks_of(const LayerBuilder& builder, std::size_t inputs) {
  std::vector<ValueId> masks;
  for (std::size_t i = 0; i < inputs; ++i) masks.push_back(builder.mask(i));
  return masks;
}

/// The mask of the positions where the first input counts or none does.
ValueId first_or_none(LayerBuilder& builder) {
  const ValueId none = builder.apply(ops::Scale(-1), {builder.output_mask()});
  const ValueId all = builder.apply(ops::FullMask(builder.shape(none)), {none});
  return either(builder, builder.mask(0), builder.apply(ops::Combine(CombineKind::kAdd), {all, none}));
}

/// Adds in one pass if the inputs have one shape.
ValueId sum(LayerBuilder& builder, const std::vector<ValueId>& values) {
  const Shape& first = builder.shape(values[0]);
  const bool one_shape = std::ranges::all_of(values, [&](ValueId value) { return builder.shape(value) == first; });
  return one_shape ? builder.apply(ops::AddN{}, values) : combine_all(builder, CombineKind::kAdd, values);
}

/// The maximum or minimum of the inputs, each where it counts.
ValueId choose(LayerBuilder& builder, CombineKind kind, std::span<const ValueId> sources) {
  merge_masks(builder, sources);
  std::vector<ValueId> masks = masks_of(builder, sources.size());
  // Where no input counts, Keras uses the first.
  if (builder.output_mask() != kNoValue) {
    masks[0] = masks[0] == builder.output_mask() ? kNoValue : first_or_none(builder);
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float never = kind == CombineKind::kMaximum ? -kInfinity : kInfinity;
  return combine_all(builder, kind, alike(builder, with_masked_as(builder, sources, masks, never)));
}

}  // namespace

config::Section<Add> Add::section() {
  return config::Section<Add>("Adds its inputs element by element.").include<LayerCommon>();
}

ValueId Add::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  merge_masks(builder, sources);
  return sum(builder, alike(builder, sources));
}

config::Section<Subtract> Subtract::section() {
  return config::Section<Subtract>("Subtracts the second of its two inputs from the first.").include<LayerCommon>();
}

ValueId Subtract::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  if (sources.size() != 2) throw Error(fmt::format("expected two inputs, found {}", sources.size()));
  merge_masks(builder, sources);
  const std::vector<ValueId> values = alike(builder, sources);
  return sum(builder, {values[0], builder.apply(ops::Scale(-1), {values[1]})});
}

config::Section<Multiply> Multiply::section() {
  return config::Section<Multiply>("Multiplies its inputs element by element.").include<LayerCommon>();
}

ValueId Multiply::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  merge_masks(builder, sources);
  const std::vector<ValueId> factors = with_masked_as(builder, sources, masks_of(builder, sources.size()), 1);
  const ValueId product = combine_all(builder, CombineKind::kMultiply, alike(builder, factors));
  if (builder.output_mask() == kNoValue) return product;
  return builder.apply(ops::Select(0), {builder.output_mask(), product, kNoValue});
}

config::Section<Average> Average::section() {
  return config::Section<Average>("Averages its inputs element by element.").include<LayerCommon>();
}

ValueId Average::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  merge_masks(builder, sources);
  const ops::Scale share(1.0f / static_cast<float>(sources.size()));
  return builder.apply(share, {sum(builder, alike(builder, sources))});
}

config::Section<Maximum> Maximum::section() {
  return config::Section<Maximum>("The maximum of its inputs, element by element.").include<LayerCommon>();
}

ValueId Maximum::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  return choose(builder, CombineKind::kMaximum, sources);
}

config::Section<Minimum> Minimum::section() {
  return config::Section<Minimum>("The minimum of its inputs, element by element.").include<LayerCommon>();
}

ValueId Minimum::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  return choose(builder, CombineKind::kMinimum, sources);
}

config::Section<Concatenate> Concatenate::section() {
  return config::Section<Concatenate>("Concatenates its inputs along an axis.")
      .key("axis", &Concatenate::axis, "Axis along which to concatenate; 0 is the batch, -1 the last axis.")
      .include<LayerCommon>();
}

ValueId Concatenate::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const Shape& first = builder.shape(sources[0]);
  const std::size_t rank = first.rank();
  const auto joined = axis_of_example(axis, rank);
  if (!joined) {
    if (rank == 0) throw Error(fmt::format("one number has no axis to be joined; {}", LayerBuilder::kNumberRemedy));
    throw Error(fmt::format("axis {} cannot be joined: expected 1 to {}, or -{} to -1, for the shape {}", axis, rank,
                            rank, builder.described(sources[0])));
  }
  for (const ValueId source : sources) {
    Shape expected = first;
    const Shape& found = builder.shape(source);
    if (found.rank() == first.rank()) expected[*joined] = found[*joined];
    builder.features(source);
    if (found != expected) throw mismatch(builder, "that differ in the joined axis alone", sources[0], source);
  }
  join_masks(builder, sources, *joined);
  return builder.apply(ops::Concatenate(*joined), {sources.begin(), sources.end()});
}

}  // namespace mirrortrain::layers
