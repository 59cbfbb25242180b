#pragma once

#include "kernels/cuda/channels.h"

namespace mirrortrain::cuda {

/// What a normalized channel is multiplied by: factor / sqrt(variance + epsilon), where an absent factor is 1 and an
/// absent variance divides by nothing.
struct ChannelScale {
  const float *factor = nullptr, *variance = nullptr;
  float epsilon = 0;
};

/// y = (x - mean) scale + beta + added, then relu where asked; beta and added may be null.
template <class T>
void normalize(Stream& stream, const Cells& shape, bool relu, const T* x, const float* mean, const ChannelScale& scale,
               const float* beta, const T* added, T* y);

}  // namespace mirrortrain::cuda
