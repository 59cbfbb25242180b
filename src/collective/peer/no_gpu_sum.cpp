// Stands in for the GPUs' sum in a build without CUDA.
#include "base/error.h"
#include "collective/peer/sum_on_stream.h"
#include "device/cuda/gpus.h"

namespace mirrortrain {

void sum_on_gpu(Stream&, std::span<const float* const>, float*, std::size_t) {
  throw UsageError(cuda::visible_gpus().why_none);
}

}  // namespace mirrortrain
