#pragma once

#include <memory>

#include "graph/ops/conv2d.h"
#include "kernels/kernel.h"

/// Convolutions by Winograd's F(4x4, 3x3), float32: 2.25 products per output in place of 9.
namespace mirrortrain::cpu::winograd {

/// Whether these kernels can take a convolution, in float32, and gain by it; from its shapes alone.
bool serves(const ops::Conv2dAttributes& attributes, const Shape& x, const Shape& kernel, const Shape& y);

std::unique_ptr<Kernel> make_forward(const ops::Conv2d& op, const KernelSpecs& specs);
std::unique_ptr<Kernel> make_input_gradient(const ops::Conv2dInputGradient& op, const KernelSpecs& specs);
std::unique_ptr<Kernel> make_weight_gradient(const ops::Conv2dWeightGradient& op, const KernelSpecs& specs);

}  // namespace mirrortrain::cpu::winograd
