#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/row_kernels.h"

// A batch from a data set in device memory, as data/gather.h makes it on the host.
namespace mirrortrain::cuda {

/// Writes the chosen rows, converted, to `to`: float32 or bfloat16.
void gather_rows(Stream& stream, const DeviceRows& source, const RowChoice& rows, const DeviceAffine& affine,
                 DType dtype, std::byte* to);

/// Writes the chosen rows' labels to `to`: int32 or float32, or, where `one_hot_depth` is not 0, float32 vectors of
/// zeros with a one at the class.
void gather_labels(Stream& stream, const DeviceRows& source, const RowChoice& rows, DType dtype,
                   std::int64_t one_hot_depth, std::byte* to);

}  // namespace mirrortrain::cuda
