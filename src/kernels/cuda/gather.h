#pragma once

#include "kernels/row_kernels.h"

namespace mirrortrain::cuda {

/// RowKernels::gather.
void gather(Stream& stream, const DeviceBatch& batch);

}  // namespace mirrortrain::cuda
