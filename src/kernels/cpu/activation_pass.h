#pragma once

#include "base/tensor_view.h"
#include "graph/ops/activation_kind.h"

namespace mirrortrain::cpu {

/// Applies an activation in place, for kernels that cannot do it on the way. Nothing to do for kLinear.
void activate(ops::ActivationKind kind, const TensorView& values, int threads);

}  // namespace mirrortrain::cpu
