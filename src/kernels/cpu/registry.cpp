#include "kernels/cpu/registry.h"

namespace mirrortrain::cpu {

const KernelRegistry& kernel_registry() {
  static const KernelRegistry registry = [] {
    KernelRegistry all("cpu");
    add_dense_kernels(all);
    add_conv2d_kernels(all);
    add_max_pool2d_kernels(all);
    add_average_pool2d_kernels(all);
    add_elementwise_kernels(all);
    add_dropout_kernels(all);
    add_softmax_kernels(all);
    add_batch_norm_kernels(all);
    add_loss_kernels(all);
    add_arrange_kernels(all);
    add_combine_kernels(all);
    add_sum_to_kernels(all);
    add_synchronized_batch_norm_kernels(all);
    add_global_max_pool2d_kernels(all);
    add_group_norm_kernels(all);
    add_attention_kernels(all);
    add_attention_gradient_kernels(all);
    add_recurrent_kernels(all);
    add_recurrent_gradient_kernels(all);
    add_mask_kernels(all);
    add_embedding_kernels(all);
    add_count_kernels(all);
    add_upsample2d_kernels(all);
    return all;
  }();
  return registry;
}

}  // namespace mirrortrain::cpu
