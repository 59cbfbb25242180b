#pragma once

#include "config/value.h"

namespace mirrortrain {

/// Writes out `model.blocks` and every `repeat` of `model.layers`, so that `layers` is a plain list and `blocks` is
/// gone.
///
///   blocks:
///     residual:
///       parameters: {filters: null, strides: 1}     # null: must be given where the block is used
///       layers:
///         - conv2d: {filters: $filters, kernel_size: 3, strides: $strides, padding: same, name: a}
///         - conv2d: {filters: $filters, kernel_size: 3, padding: same, name: b}
///         - add: {inputs: [b, input]}               # input: what comes into the block
///   layers:
///     - residual: {filters: 64, name: first}        # layers first_a and first_b; `first` is the block's output
///     - repeat:
///         times: 3
///         layers: [residual: {filters: 64, name: stage}]     # stage_1_a, ..., stage_3_b
///
/// `$name` is a parameter's value, `${name}` its text within a text; in a repeat `number` counts from `first` (1). A
/// name in a repeat gets the number, unless it says `${number}` itself, and a name in a block the block's name, unless
/// it says `${name}`. An input is found by its name in the block, in what surrounds it, and so on. What is wrong is
/// added to `errors`; the values keep the places where they were written, with the use that led there.
void expand_blocks(config::Value& root, config::Errors& errors);

}  // namespace mirrortrain
