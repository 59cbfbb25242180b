#pragma once

#include "config/errors.h"
#include "config/value.h"
#include "model/blocks/expanded_layers.h"

namespace mirrortrain {

/// Replaces names of blocks' uses, where the file names layers outside of `model.layers`, by those of their layers:
/// `model.freeze`, `model.recompute`, where a use's layers become a list, and `strategy.pipeline.split_before`, where
/// it becomes its first layer. Adds an error for one in `model.outputs`.
void name_layers_of_blocks(config::Value& root, const ExpandedLayers& layers, config::Errors& errors);

}  // namespace mirrortrain
