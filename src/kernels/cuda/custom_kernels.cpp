#include "kernels/cuda/custom_kernels.h"

#include <fmt/format.h>

#include "base/error.h"
#include "kernels/cuda/stream_kernel.h"

namespace mirrortrain::cuda {

void refuse_dtype(const Op& op, DType dtype) {
  throw Error(
      fmt::format("{} has no kernel for {} on CUDA; it computes on float32 and bfloat16", op.name(), name_of(dtype)));
}

void add_custom_kernels(KernelRegistry& registry) {
  add_elementwise_kernels(registry);
  add_dropout_kernels(registry);
  add_softmax_kernels(registry);
  add_loss_kernels(registry);
  add_max_pool2d_kernels(registry);
  add_max_pool2d_gradient_kernels(registry);
  add_average_pool2d_kernels(registry);
  add_batch_norm_kernels(registry);
  add_batch_norm_inference_kernels(registry);
  add_arrange_kernels(registry);
  add_combine_kernels(registry);
  add_sum_to_kernels(registry);
  add_synchronized_batch_norm_kernels(registry);
  add_global_max_pool2d_kernels(registry);
  add_group_norm_kernels(registry);
  add_attention_kernels(registry);
  add_recurrent_kernels(registry);
  add_recurrent_gradient_kernels(registry);
  add_mask_kernels(registry);
  add_embedding_kernels(registry);
  add_count_kernels(registry);
  add_upsample2d_kernels(registry);
}

}  // namespace mirrortrain::cuda
