#pragma once

#include "kernels/row_kernels.h"
#include "kernels/step_kernels.h"

namespace mirrortrain::cuda {

/// The kernels of update.h.
const StepKernels& step_kernels();

/// The kernels of gather.h.
const RowKernels& row_kernels();

}  // namespace mirrortrain::cuda
