#pragma once

#include "kernels/kernel.h"

namespace mirrortrain::cpu {

/// Every kernel of the CPU backend.
const KernelRegistry& kernel_registry();

// Each file of kernels adds its own.
void add_dense_kernels(KernelRegistry& registry);
void add_conv2d_kernels(KernelRegistry& registry);
void add_max_pool2d_kernels(KernelRegistry& registry);
void add_average_pool2d_kernels(KernelRegistry& registry);
void add_elementwise_kernels(KernelRegistry& registry);
void add_dropout_kernels(KernelRegistry& registry);
void add_softmax_kernels(KernelRegistry& registry);
void add_batch_norm_kernels(KernelRegistry& registry);
void add_loss_kernels(KernelRegistry& registry);
void add_arrange_kernels(KernelRegistry& registry);
void add_combine_kernels(KernelRegistry& registry);
void add_sum_to_kernels(KernelRegistry& registry);
void add_synchronized_batch_norm_kernels(KernelRegistry& registry);
void add_global_max_pool2d_kernels(KernelRegistry& registry);
void add_group_norm_kernels(KernelRegistry& registry);
void add_attention_kernels(KernelRegistry& registry);
void add_attention_gradient_kernels(KernelRegistry& registry);
void add_recurrent_kernels(KernelRegistry& registry);
void add_recurrent_gradient_kernels(KernelRegistry& registry);
void add_mask_kernels(KernelRegistry& registry);
void add_embedding_kernels(KernelRegistry& registry);
void add_count_kernels(KernelRegistry& registry);
void add_upsample2d_kernels(KernelRegistry& registry);

}  // namespace mirrortrain::cpu
