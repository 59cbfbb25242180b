#pragma once

#include <memory>

#include "graph/ops/conv.h"
#include "kernels/kernel.h"

// Convolutions of each channel by itself, with one filter, as MobileNet's, or with several. They compute so little that
// memory bounds them: a thread reads and writes packs of channels, and places beside each other share what they read.
namespace mirrortrain::cuda {

// Null for other convolutions. Sums are in float32 and in a fixed order; the filters' derived form has their channels
// last. A Conv2dOhwiWeightGradient gives a gradient in that order.
std::unique_ptr<Kernel> make_if_depthwise(const ops::Conv2d& op, const KernelSpecs& specs);
std::unique_ptr<Kernel> make_if_depthwise(const ops::Conv2dInputGradient& op, const KernelSpecs& specs);
std::unique_ptr<Kernel> make_if_depthwise(const ops::Conv2dWeightGradient& op, const KernelSpecs& specs);

/// Whether each channel has filters of its own. `kernel`: [height, width, channels / groups, filters].
inline bool is_depthwise(const ops::Conv2dAttributes& op, const Shape& kernel) {
  return op.groups > 1 && kernel[2] == 1;
}

/// How many filters each channel of a depthwise convolution has: the depth multiplier.
inline int filters_of_channel(const ops::Conv2dAttributes& op, const Shape& kernel) {
  return static_cast<int>(kernel[3] / op.groups);
}

}  // namespace mirrortrain::cuda
