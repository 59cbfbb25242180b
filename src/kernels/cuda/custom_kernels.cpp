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
#define MIRRORTRAIN_ADD(name) add_##name##_kernels(registry);
  MIRRORTRAIN_CUDA_KERNELS(MIRRORTRAIN_ADD)
#undef MIRRORTRAIN_ADD
}

}  // namespace mirrortrain::cuda
