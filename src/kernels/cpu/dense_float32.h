#pragma once

#include <memory>

#include "graph/ops/dense.h"
#include "kernels/kernel.h"

/// Dense layers in float32 by the own products: weights are read where they lie, and nothing is allocated in a run.
namespace mirrortrain::cpu::dense_float32 {

std::unique_ptr<Kernel> make_forward(const ops::Dense& op, const KernelSpecs& specs);
std::unique_ptr<Kernel> make_input_gradient(const KernelSpecs& specs);
std::unique_ptr<Kernel> make_weight_gradient(const KernelSpecs& specs);

}  // namespace mirrortrain::cpu::dense_float32
