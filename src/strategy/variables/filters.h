#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/model.h"

namespace mirrortrain {

/// The numbers of the variables that are kernels of convolutions. Throws Error where anything but a convolution reads
/// one, or a convolution's kernel is no variable: their order could not be chosen then.
std::vector<std::size_t> find_filters(const Model& model);

/// Between [height, width, in, out] and [out, height, width, in] (see Backend::keeps_filters_out_first); in place.
void put_out_first(const Shape& kernel, float* elements);
void put_out_last(const Shape& kernel, float* elements);

}  // namespace mirrortrain
