#pragma once

#include <memory>

#include "graph/ops/conv2d.h"
#include "kernels/kernel.h"

/// Convolutions of images with few channels (a network's first), float32: each tap is a scalar, the filters are the
/// vectors.
namespace mirrortrain::cpu::few_channels {

/// Whether these kernels can take a convolution, in float32, and gain by it; from its shapes alone.
bool serves(const ops::Conv2dAttributes& attributes, const Shape& kernel);

std::unique_ptr<Kernel> make_forward(const ops::Conv2d& op, const KernelSpecs& specs);
std::unique_ptr<Kernel> make_weight_gradient(const ops::Conv2dWeightGradient& op, const KernelSpecs& specs);

}  // namespace mirrortrain::cpu::few_channels
