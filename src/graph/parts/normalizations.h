#pragma once

#include "graph/parts/op_rule.h"

namespace mirrortrain::parts {

// Batch normalization, also synchronized: in parts by channels.

/// Channels are normalized by themselves: the vectors are divided as they are.
Ways batch_norm(const DividedNode& node);
Ways batch_norm_sums(const DividedNode& node);
Ways batch_norm_by_sums(const DividedNode& node);
/// From a place's own sums, vectors of its channels.
Ways moving_statistics(const DividedNode& node);

}  // namespace mirrortrain::parts
