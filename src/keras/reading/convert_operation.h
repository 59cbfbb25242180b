#pragma once

#include "keras/reading/convert_layer.h"

namespace mirrortrain::keras {

/// An operation on tensors, as `x + y` or keras.ops.exp(x): a merging layer or an `expression`. `call`: of it.
ConvertedLayer convert_operation(const NetworkLayer& operation, const Call& call, Problems& problems);

}  // namespace mirrortrain::keras
