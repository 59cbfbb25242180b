#include "kernels/cuda/launch.h"
#include "kernels/cuda/reduce.h"
#include "kernels/cuda/update.h"

namespace mirrortrain::cuda {
namespace {

/// A block for each norm.
__global__ void __launch_bounds__(kBlock) scale_to_bound(scalar::WeightBounds norms, float* weights, bfloat16* rounded,
                                                         std::int64_t begin, std::int64_t end) {
  const std::int64_t terms = norms.reduced.count();
  for (std::int64_t norm = begin + blockIdx.x; norm < end; norm += gridDim.x) {
    const std::int64_t first = norms.kept.offset(norm);
    double squares = 0;
    for (std::int64_t term = threadIdx.x; term < terms; term += blockDim.x) {
      const auto weight = static_cast<double>(weights[first + norms.reduced.offset(term)]);
      squares += weight * weight;
    }
    const float factor = scalar::norm_factor(block_sum(squares), norms.bound);
    for (std::int64_t term = threadIdx.x; term < terms; term += blockDim.x) {
      const std::int64_t at = first + norms.reduced.offset(term);
      weights[at] *= factor;
      if (rounded != nullptr) rounded[at] = bfloat16(weights[at]);
    }
  }
}

__global__ void __launch_bounds__(kBlock)
    raise_to_zero(scalar::WeightBounds norms, float* weights, bfloat16* rounded, std::int64_t begin, std::int64_t end) {
  for (std::int64_t i = begin + grid_thread(); i < end; i += grid_threads()) {
    const std::int64_t at = norms.kept.offset(i);
    weights[at] = scalar::without_sign(weights[at]);
    if (rounded != nullptr) rounded[at] = bfloat16(weights[at]);
  }
}

}  // namespace

void bound_weights(Stream& stream, const scalar::WeightBounds& norms, float* weights, bfloat16* rounded,
                   std::int64_t begin, std::int64_t end) {
  if (begin < end && norms.bound.non_negative) {
    launch(stream, blocks_for(end - begin), kBlock, 0, raise_to_zero, norms, weights, rounded, begin, end);
  } else if (begin < end) {
    launch(stream, blocks_for(end - begin, 1), kBlock, 0, scale_to_bound, norms, weights, rounded, begin, end);
  }
}

}  // namespace mirrortrain::cuda
