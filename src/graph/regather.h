#pragma once

#include <map>
#include <vector>

#include "graph/graph.h"

namespace mirrortrain {

/// A graph with gradients whose backward part gathers tensors that places have parts of (ops::GatherParts) once more,
/// and computes again what follows from them alone, so that they need not be kept from the forward part on, its first
/// `forward` nodes. Ids of other values stay.
Graph regather(const Graph& graph, NodeId forward);

/// Nodes to add to a graph's, by the number of the node that they come before, or by the number of all nodes.
using AddedNodes = std::map<std::size_t, std::vector<Node>>;
std::vector<Node> with_added(std::vector<Node> nodes, AddedNodes before);

/// Where a node of a layer begins: the first of the neighbouring nodes before `node`, from `from` on, that are of the
/// same layer. What they read can be added there without separating nodes that a backend would merge.
std::size_t begin_of_layer(const std::vector<Node>& nodes, std::size_t from, std::size_t node);

}  // namespace mirrortrain
