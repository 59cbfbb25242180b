#pragma once

#include <cstddef>
#include <cstdint>

#include "model/layer_builder.h"

// For layers that have each step of a sequence as nodes of the graph.
namespace mirrortrain::layers {

inline constexpr std::int64_t kMostSteps = 1024;

/// a * b, element by element.
ValueId product(LayerBuilder& builder, ValueId a, ValueId b);

/// The value with a leading axis of 1: a step as a sequence of one.
ValueId with_leading_axis(LayerBuilder& builder, ValueId value);

/// A mask's number of a step, 1 where it counts and 0 where it is padding, as a number of this type that broadcasts to
/// a state of `rank` axes.
ValueId counts_at(LayerBuilder& builder, ValueId mask, std::int64_t step, std::size_t rank, DType dtype);
/// `now` where the step counts, else `before`; 0 where that is kNoValue.
ValueId kept_at_padding(LayerBuilder& builder, ValueId counts, ValueId now, ValueId before);

}  // namespace mirrortrain::layers
