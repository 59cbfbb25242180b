#pragma once

#include <vector>

#include "graph/aggregation_method.h"
#include "graph/graph.h"

namespace mirrortrain {

/// A term of the sum whose gradient is computed.
struct WeightedLoss {
  ValueId loss = kNoValue;  ///< output 0 of a loss op
  float weight = 1;
};

/// Appends to `graph` the nodes that compute the gradient of the weighted sum of `losses` with respect to each of
/// `variables`; returns them in that order. A variable that no loss depends on gives kNoValue.
///
/// Where a value feeds several consumers, each gives a term of its gradient, the last consumer first. `method` says how
/// they become one value (AddN):
///  - kAddN: when the last term exists, all in one pass, in the order of the consumers;
///  - kTree: two sums of equally many terms as soon as both exist, like carries in a binary counter; the remaining sums
///    at the end, from the smallest to the largest;
///  - kAccumulateN: each term to the sum of those before it, at once.
std::vector<ValueId> add_gradients(Graph& graph, const std::vector<WeightedLoss>& losses,
                                   const std::vector<ValueId>& variables,
                                   AggregationMethod method = AggregationMethod::kAddN);

}  // namespace mirrortrain
