#pragma once

#include "graph/parts/op_rule.h"

namespace mirrortrain::parts {

// Ops that are computed in parts along an axis by which their inputs are divided already.

/// Along any axis by which an input is divided, where the inputs are broadcast to the output's shape.
Ways elementwise(const DividedNode& node);
/// Zeros take the places of the other parts, so that each element has the random bits of its place in the whole.
Ways dropout(const DividedNode& node);
Ways by_channels(const DividedNode& node);
Ways over_positions(const DividedNode& node);
Ways masked_mean(const DividedNode& node);
Ways softmax(const DividedNode& node);
Ways flip(const DividedNode& node);
Ways transpose(const DividedNode& node);
Ways concatenate(const DividedNode& node);
Ways reshape(const DividedNode& node);
/// Inputs: a mask, and two values like the output with one axis more.
Ways select(const DividedNode& node);
Ways sum_to(const DividedNode& node);
Ways max_to(const DividedNode& node);
/// Every place has it as a whole.
Ways constant(const DividedNode& node);
/// Only its rows are read.
Ways only_rows(const DividedNode& node);
/// Over replicas: each place's values by themselves.
Ways collective(const DividedNode& node);
/// Of ops::Pad and ops::Crop: along an axis that is not padded.
Ways pad(const DividedNode& node);
Ways crop(const DividedNode& node);

}  // namespace mirrortrain::parts
