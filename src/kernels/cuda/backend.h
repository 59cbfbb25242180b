#pragma once

#include <memory>

#include "kernels/backend.h"
#include "kernels/cuda/math_options.h"

namespace mirrortrain::cuda {

/// GPUs: cuDNN, cuBLASLt and own kernels. Throws UsageError, saying why, in a build without CUDA.
std::unique_ptr<Backend> make_backend(const MathOptions& options);

}  // namespace mirrortrain::cuda
