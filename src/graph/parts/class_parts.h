#pragma once

#include <vector>

#include "graph/op_parts.h"

namespace mirrortrain {

// Losses and metrics of logits of which each place has those of its own classes, so that no place has them all: the
// places exchange the largest logit, the sum of all exponentials and what belongs to the label, of each position.

/// Of ops::Loss: crossentropies of logits, with labels as class numbers or as probabilities.
std::vector<OpParts> loss_in_parts(const DividedNode& node);
/// Of ops::Metric: whether the largest output is the label's.
std::vector<OpParts> metric_in_parts(const DividedNode& node);

}  // namespace mirrortrain
