#pragma once

#include "keras/json.h"
#include "keras/network.h"
#include "keras/problems.h"

namespace mirrortrain::keras {

/// Whether any layer, of models within models too, makes a mask of padding.
bool makes_masks(const Json& json);

/// Reports layers that are called with a mask that is not handed on as it is here: it has to come of an embedding or a
/// masking layer.
void check_masks(const Network& network, Problems& problems);

}  // namespace mirrortrain::keras
