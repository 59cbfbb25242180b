#pragma once

#include "graph/graph.h"
#include "model/losses/loss_common.h"

namespace mirrortrain::losses {

/// The weights of examples with which the mean that ops::Loss takes over the global batch is what `reduction` says:
/// `weights`, batched [] or kNoValue for equal ones, times what the sums over the global batch make of them. `value`:
/// what the op reads; `mask`: its mask, or kNoValue. `of_batch`: every example has the same numbers, those of the whole
/// global batch, so that a sum counts them once.
ValueId reduced_weights(Graph& graph, Reduction reduction, ValueId weights, ValueId value, ValueId mask, bool of_batch);

}  // namespace mirrortrain::losses
