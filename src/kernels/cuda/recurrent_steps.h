#pragma once

#include <functional>

#include "graph/ops/recurrent.h"
#include "kernels/kernel.h"

// Recurrent layers in two ways: all time steps in one kernel, whose blocks take a few rows each and read the whole
// recurrent kernel at every time step; or, where layers are wide, a matrix multiplication and a kernel for the cells of
// all rows at each time step.
namespace mirrortrain::cuda {

/// In one kernel.
std::unique_ptr<Kernel> make_recurrent(const ops::Recurrent& op, const KernelSpecs& specs);
std::unique_ptr<Kernel> make_recurrent_gradient(const ops::RecurrentGradient& op, const KernelSpecs& specs);

/// c = left · right or left · transpose(right), all float32 and row-major.
struct StepProduct {
  std::function<void(Stream&, const float* left, const float* right, float* c, std::byte* workspace)> enqueue;
  std::size_t workspace_bytes = 0;
};
/// Makes the product of [rows, inner] with [inner, columns] or, `transposed`, [columns, inner].
using MakeStepProduct =
    std::function<StepProduct(std::int64_t rows, std::int64_t inner, std::int64_t columns, bool transposed)>;

/// Adds kernels for recurrent layers that go by time steps where `by_steps` says so for rows and units, but for a GRU
/// that resets before its product.
void add_recurrent_kernels_by_steps(KernelRegistry& registry, const MakeStepProduct& make_product,
                                    const std::function<bool(std::int64_t rows, std::int64_t units)>& by_steps);

}  // namespace mirrortrain::cuda
