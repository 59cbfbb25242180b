#pragma once

#include <memory>

#include "graph/ops/dense.h"
#include "kernels/kernel.h"

/// Dense layers in bfloat16 by custom products of pairs (pairs.h), on processors that have them: as fast as a
/// library's, with copies of the weight that its update can write (paired_weight.h).
namespace mirrortrain::cpu::dense_pairs {

/// Null where the processor has no products of pairs or the kernel's inner dimension is odd.
std::unique_ptr<Kernel> make_forward(const ops::Dense& op, const KernelSpecs& specs);
std::unique_ptr<Kernel> make_input_gradient(const KernelSpecs& specs);

}  // namespace mirrortrain::cpu::dense_pairs
