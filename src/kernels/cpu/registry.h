#pragma once

#include "kernels/kernel.h"

namespace mirrortrain::cpu {

/// Every kernel of the CPU backend.
const KernelRegistry& kernel_registry();

// Each file of kernels adds its own. This list declares their functions, and kernel_registry calls them.
// clang-format off
#define MIRRORTRAIN_CPU_KERNELS(file) \
  file(dense) file(conv) file(max_pool2d) file(average_pool2d) file(elementwise) file(dropout) file(softmax) \
  file(batch_norm) file(loss) file(arrange) file(combine) file(sum_to) file(synchronized_batch_norm) \
  file(global_max_pool2d) file(group_norm) file(attention) file(attention_gradient) file(recurrent) \
  file(recurrent_gradient) file(random_normal) file(constant) file(mask) file(embedding) file(count) file(upsample2d) file(pointwise) file(matmul) file(batch_row) file(ctc)
// clang-format on

#define MIRRORTRAIN_DECLARE(name) void add_##name##_kernels(KernelRegistry& registry);
MIRRORTRAIN_CPU_KERNELS(MIRRORTRAIN_DECLARE)
#undef MIRRORTRAIN_DECLARE

}  // namespace mirrortrain::cpu
