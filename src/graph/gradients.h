#pragma once

#include <vector>

#include "graph/graph.h"

namespace mirrortrain {

/// Appends to `graph` the nodes that compute the gradient of `loss` (output 0 of a loss op) with respect to each of
/// `variables`; returns them in that order. Where a value feeds several consumers their gradients are added in one pass,
/// in the order of the consumers (AddN). A variable that the loss does not depend on gives kNoValue.
std::vector<ValueId> add_gradients(Graph& graph, ValueId loss, const std::vector<ValueId>& variables);

}  // namespace mirrortrain
