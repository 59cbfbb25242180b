#pragma once

#include <cstddef>
#include <cstdint>

#include "graph/graph.h"

// What layers take of a value along one axis of each example, or of a weight.
namespace mirrortrain::layers {

/// Elements [first, first + count) of the axis.
ValueId part(Graph& graph, ValueId value, std::size_t axis, std::int64_t first, std::int64_t count);
/// Element `number` of the axis, without the axis.
ValueId step(Graph& graph, ValueId value, std::size_t axis, std::int64_t number);
/// The value with each element of the axis `times` times, one behind the other. Of what has rows.
ValueId copies(Graph& graph, ValueId value, std::size_t axis, std::int64_t times);

}  // namespace mirrortrain::layers
