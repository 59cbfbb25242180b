#pragma once

#include <cstdint>

#include "kernels/cuda/launch.h"

namespace mirrortrain::cuda {

/// Writes to `total`, in device memory, how many of a mask's numbers are not 0.
void count_mask(Stream& stream, std::int64_t count, const float* mask, double* total);

}  // namespace mirrortrain::cuda
