#pragma once

#include <functional>
#include <string>

#include "graph/graph.h"

namespace mirrortrain {

/// A graph with gradients whose backward part computes values of the forward part again instead of having them kept
/// (Chen et al., arXiv 1604.06174). `forward`: how many nodes come before the gradients'. `unit_of`: for a layer, the
/// number of the layers that are recomputed together with it, or -1. What other layers read of such a unit is kept, as
/// they need it too, and so is what collectives give; everything else is computed again from that, once, before the
/// first gradient that reads it. The same ops on the same inputs give the same bits; ids of values stay.
Graph recompute(const Graph& graph, NodeId forward, const std::function<int(const std::string& layer)>& unit_of);

}  // namespace mirrortrain
