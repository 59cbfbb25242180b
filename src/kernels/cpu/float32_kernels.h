#pragma once

#include <memory>

#include "graph/ops/conv.h"
#include "graph/ops/dense.h"
#include "kernels/kernel.h"

/// Dense layers in float32 by custom matrix multiplications: weights are read in place, and nothing is allocated in a
/// run.
namespace mirrortrain::cpu::dense_float32 {

std::unique_ptr<Kernel> make_forward(const ops::Dense& op, const KernelSpecs& specs);
std::unique_ptr<Kernel> make_input_gradient(const KernelSpecs& specs);
std::unique_ptr<Kernel> make_weight_gradient(const KernelSpecs& specs);

}  // namespace mirrortrain::cpu::dense_float32

namespace mirrortrain::cpu::few_channels {

// Convolutions of images with few channels (a network's first), float32: each tap is a scalar, the filters are the
// vectors.

/// Whether these kernels support a float32 convolution and are faster for it; decided by its shapes.
bool serves(const ops::Conv2dAttributes& attributes, const Shape& kernel);

std::unique_ptr<Kernel> make_forward(const ops::Conv2d& op, const KernelSpecs& specs);
std::unique_ptr<Kernel> make_weight_gradient(const ops::Conv2dWeightGradient& op, const KernelSpecs& specs);

}  // namespace mirrortrain::cpu::few_channels

namespace mirrortrain::cpu::winograd {

// Convolutions by Winograd's F(4x4, 3x3), float32: 2.25 products per output in place of 9.

/// Whether these kernels support a float32 convolution and are faster for it; decided by its shapes.
bool serves(const ops::Conv2dAttributes& attributes, const Shape& x, const Shape& kernel, const Shape& y);

std::unique_ptr<Kernel> make_forward(const ops::Conv2d& op, const KernelSpecs& specs);
std::unique_ptr<Kernel> make_input_gradient(const ops::Conv2dInputGradient& op, const KernelSpecs& specs);
std::unique_ptr<Kernel> make_weight_gradient(const ops::Conv2dWeightGradient& op, const KernelSpecs& specs);

}  // namespace mirrortrain::cpu::winograd
