#pragma once

#include <memory>

#include "graph/ops/activation_kind.h"
#include "kernels/cpu/onednn.h"

/// Kernels made of one oneDNN primitive, for a Problem that is an InnerProduct or a Convolution. They use a team of
/// `threads`. Null where oneDNN has no good implementation.
namespace mirrortrain::cpu::onednn {

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
