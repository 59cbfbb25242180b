#include "model/layers/reshape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/axes.h"
#include "base/error.h"
#include "graph/ops/arrange.h"
#include "graph/ops/elementwise.h"

namespace mirrortrain::layers {
namespace {

/// `target` with its -1, if it has one, replaced so that it has `elements` elements. Throws Error if that is
/// impossible.
Shape resolve(Shape target, const Shape& input) {
  const std::string wanted = target.text();
  const auto open = std::ranges::find(target.dims(), -1);
  const auto open_axis = static_cast<std::size_t>(open - target.dims().begin());
  const bool has_open = open != target.dims().end();
  if (has_open) target[open_axis] = 1;
  check_elements(target, "output");
  const std::int64_t elements = input.elements(), known = target.elements();
  if (has_open && elements % known == 0) target[open_axis] = elements / known;
  if (target.elements() == elements) return target;
  throw Error(fmt::format("the input shape {} has {} elements, which do not fit target_shape {}", input.text(),
                          elements, wanted));
}

}  // namespace

config::Section<Flatten> Flatten::section() {
  return config::Section<Flatten>("Flattens each example to one axis.").include<LayerCommon>();
}

ValueId Flatten::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  return builder.apply(ops::Reshape({builder.shape(sources[0]).elements()}), {sources[0]});
}

config::Section<Reshape> Reshape::section() {
  return config::Section<Reshape>("Reshapes each example.")
      .key("target_shape", &Reshape::target_shape,
           "Target shape, without the batch axis; one extent may be -1 and is then inferred.", config::required,
           config::at_least(-1), config::aliases("shape"))
      .include<LayerCommon>();
}

ValueId Reshape::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  if (std::ranges::count(target_shape, -1) > 1) throw Error("target_shape may contain -1 once");
  if (std::ranges::count(target_shape, 0) > 0) throw Error("target_shape must not contain 0");
  const Shape target = resolve(Shape(target_shape), builder.shape(sources[0]));
  return builder.apply(ops::Reshape(target), {sources[0]});
}

config::Section<Permute> Permute::section() {
  return config::Section<Permute>("Puts the axes of each example into another order.")
      .key("dims", &Permute::dims, "For each axis of the output the axis of the input, counted from 1.",
           config::required, config::non_empty, config::at_least(1))
      .include<LayerCommon>();
}

ValueId Permute::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const std::size_t rank = builder.shape(sources[0]).rank();
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : dims) axes.push_back(static_cast<std::size_t>(axis - 1));
  for (std::size_t axis = 0; axis < std::max(rank, dims.size()); ++axis) {
    if (dims.size() == rank && std::ranges::count(axes, axis) == 1) continue;
    throw Error(fmt::format("expected dims with each of 1 to {} once for the input shape {}, found [{}]", rank,
                            builder.described(sources[0]), fmt::join(dims, ", ")));
  }
  return builder.apply(ops::Transpose(axes), {sources[0]});
}

config::Section<Flip> Flip::section() {
  return config::Section<Flip>(
             "Reverses each example along an axis: a sequence from its last position to its first, and its mask with "
             "it.")
      .key("axis", &Flip::axis, "Axis to reverse; 0 is the batch, 1 the steps of a sequence, -1 the last axis.")
      .include<LayerCommon>();
}

ValueId Flip::build(LayerBuilder& builder, std::span<const ValueId> sources) const {
  const std::size_t rank = builder.shape(sources[0]).rank();
  const auto flipped = axis_of_example(axis, rank);
  if (!flipped) {
    throw Error(fmt::format("axis {} cannot be flipped: expected 1 to {}, or -{} to -1, for the shape {}", axis, rank,
                            rank, builder.described(sources[0])));
  }
  const ValueId mask = builder.mask(0);
  const bool flips_mask = mask != kNoValue && *flipped < builder.shape(mask).rank();
  builder.set_output_mask(flips_mask ? builder.apply(ops::Flip(*flipped), {mask}) : mask);
  return builder.apply(ops::Flip(*flipped), {sources[0]});
}

}  // namespace mirrortrain::layers
