#pragma once

#include <vector>

#include "graph/graph.h"

namespace mirrortrain {

/// Rewrites a forward graph so that kernels do several ops in one pass; call it before add_gradients.
///  - an elementwise activation that only follows a dense or conv2d moves into it (where derivative_from_output);
///  - relu that only feeds a max pooling moves into the pooling (max and relu commute), out of a conv2d too;
///  - relu or relu6 that only follows a batch normalization moves into it;
///  - softmax or sigmoid that feeds its crossentropy becomes a loss on logits; the probabilities are kept for the
///    metrics.
/// `kept` are the values that the caller still needs: they are never fused away, and are updated to their ids in the
/// returned graph.
Graph fuse(const Graph& graph, const std::vector<ValueId*>& kept);

}  // namespace mirrortrain
