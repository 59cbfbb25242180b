#pragma once

#include <utility>
#include <vector>

#include "graph/op_parts.h"
#include "graph/ops/collective.h"

namespace mirrortrain::parts {

// What the rules of op_parts.cpp have in common.

/// The ways in which a node can be computed in parts, as parts_of_op() gives them.
using Ways = std::vector<OpParts>;
/// The inputs of a place's nodes.
using Inputs = std::vector<ValueId>;

/// The node's op, whose type the rule is for.
template <class OpType>
const OpType& op_of(const DividedNode& node) {
  return static_cast<const OpType&>(*node.node.op);
}

/// The axis of an image's channels.
inline constexpr std::size_t kChannels = 2;

inline std::size_t last_axis(const Shape& shape) { return shape.rank() - 1; }

/// A node whose op's results at all places are added.
template <class OpType>
auto sum_of(const OpType& op) {
  return [op](Graph& graph, Inputs inputs, const ModelPlace&) -> std::vector<ValueId> {
    return {ops::sum_of_places(graph, graph.apply_one(op, std::move(inputs)))};
  };
}

}  // namespace mirrortrain::parts
