#pragma once

#include "config/value.h"

namespace mirrortrain {

/// Expands `model.blocks` and every `repeat` of `model.layers`, so that `layers` is a plain list and `blocks` is
/// removed.
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
/// name in a repeat gets the number as a suffix, unless it contains `${number}`, and a name in a block gets the block's
/// name as a prefix, unless it contains `${name}`. An input is looked up by name in the block, then in the enclosing
/// lists. `- reuse: {layer: first, inputs: [LAYER], name: other}` becomes a reuse of each layer of the use `first`,
/// named other_a and other_b: what they read is the same layer's reuse for a layer of that use, the new input for the
/// block's, and what it was for a layer outside. Errors are added to `errors`; the values keep their places, with the
/// use that led there.
void expand_blocks(config::Value& root, config::Errors& errors);

}  // namespace mirrortrain
