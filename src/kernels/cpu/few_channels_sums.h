#pragma once

#include "kernels/cpu/few_channels_images.h"

namespace mirrortrain::cpu::few_channels {

/// Adds one image's part of the gradient: sums[tap][filter] += pixel * dy over all outputs, and below the taps one row
/// with the sum of dy. Rows of `sums` are round_up(filters, 16) long.
void add_image(const PaddedImages& geometry, const float* image, const float* dy, float* sums);

}  // namespace mirrortrain::cpu::few_channels
