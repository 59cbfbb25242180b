#pragma once

#include "base/tensor_view.h"
#include "graph/ops/conv2d.h"
#include "kernels/cpu/onednn.h"

/// Our ops in oneDNN's words: plain activations, weights as oneDNN likes where they are read.
namespace mirrortrain::cpu::onednn {

/// Rows are all positions: [..., in] is a matrix. `writes_weights`: for the gradient of the weights, which is float32
/// and leaves canonical.
InnerProduct inner_product(const TensorView& x, const TensorView& y, bool with_bias);

Convolution convolution(const ops::Conv2dAttributes& attributes, const TensorView& x, const Shape& kernel,
                        const TensorView& y, bool with_bias);

}  // namespace mirrortrain::cpu::onednn
