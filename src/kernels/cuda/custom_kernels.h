#pragma once

#include "kernels/kernel.h"

namespace mirrortrain::cuda {

/// The custom CUDA kernels: every op but matrix multiplications and convolutions.
void add_custom_kernels(KernelRegistry& registry);

// Each file of kernels adds its own. This list declares their functions, and add_custom_kernels calls them.
// clang-format off
#define MIRRORTRAIN_CUDA_KERNELS(file) \
  file(elementwise) file(dropout) file(softmax) file(loss) file(max_pool2d) file(max_pool2d_gradient) \
  file(average_pool2d) file(batch_norm) file(batch_norm_inference) file(arrange) file(combine) file(sum_to) \
  file(synchronized_batch_norm) file(global_max_pool2d) file(group_norm) file(attention) file(recurrent) \
  file(recurrent_gradient) file(random_normal) file(constant) file(mask) file(embedding) file(count) file(upsample2d) file(pointwise) file(matmul) file(batch_row) file(ctc)
// clang-format on

#define MIRRORTRAIN_DECLARE(name) void add_##name##_kernels(KernelRegistry& registry);
MIRRORTRAIN_CUDA_KERNELS(MIRRORTRAIN_DECLARE)
#undef MIRRORTRAIN_DECLARE

}  // namespace mirrortrain::cuda
