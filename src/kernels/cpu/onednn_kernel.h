#pragma once

#include <memory>

#include "base/tensor_view.h"
#include "graph/ops/activation_kind.h"
#include "graph/ops/conv.h"
#include "kernels/cpu/onednn.h"

/// Kernels of one oneDNN primitive, for a Problem that is an InnerProduct or a Convolution. They use a team of
/// `threads`. Null if oneDNN has no good implementation.
namespace mirrortrain::cpu::onednn {

// Ops in oneDNN's terms: plain activations, and read weights in the layout that oneDNN prefers.

/// Rows are all positions: [..., in] is a matrix.
InnerProduct inner_product(const TensorView& x, const TensorView& y, bool with_bias);

/// Of images or of volumes.
template <std::size_t kAxes>
Convolution convolution(const ops::ConvAttributes<kAxes>& attributes, const TensorView& x, const Shape& kernel,
                        const TensorView& y, bool with_bias);

/// Inputs: source, weights, bias or absent. Output: activation(destination).
template <class Problem>
std::unique_ptr<Kernel> make_forward(const Problem& problem, ops::ActivationKind activation, int threads);

/// Inputs: gradient of the destination, weights. Output: gradient of the source.
template <class Problem>
std::unique_ptr<Kernel> make_input_gradient(const Problem& problem, int threads);

/// Inputs: source, gradient of the destination. Outputs: gradient of the weights, canonical; gradient of the bias where
/// `problem.bias` is not empty.
template <class Problem>
std::unique_ptr<Kernel> make_weight_gradient(const Problem& problem, int threads);

}  // namespace mirrortrain::cpu::onednn
