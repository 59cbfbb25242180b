#pragma once

#include "config/errors.h"
#include "config/value.h"
#include "model/blocks/expanded_layers.h"

namespace mirrortrain {

/// Adds an error for each glob of variables, in the sections `variables` and `optimizer`, that names a use of a block
/// whose layers' variables are not called so: layers without a name of their own have no prefix. Says what to write.
void refuse_globs_of_blocks(const config::Value& root, const ExpandedLayers& layers, config::Errors& errors);

}  // namespace mirrortrain
