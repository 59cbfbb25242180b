#pragma once

#include "kernels/copy_kernels.h"
#include "kernels/row_kernels.h"
#include "kernels/step_kernels.h"

namespace mirrortrain::cuda {

/// The kernels of update.h.
const StepKernels& step_kernels();

/// combine_copies of update.h.
const CopyKernels& copy_kernels();

/// The kernels of gather.h.
const RowKernels& row_kernels();

}  // namespace mirrortrain::cuda
