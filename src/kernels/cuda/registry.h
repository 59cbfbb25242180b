#pragma once

#include <string_view>

#include "kernels/cuda/math_options.h"
#include "kernels/kernel.h"

namespace mirrortrain::cuda {

/// Every kernel of the CUDA backend for the index-th visible GPU. A lane has its own: the libraries' handles in it must
/// not be used by two threads at once. Kernels made from it keep what they need of it. Throws Error where a library is
/// missing.
KernelRegistry make_kernel_registry(int gpu, const MathOptions& options);

/// The same for a GPU that is not there, described by cuDNN's JSON of its properties: what can be planned, and how much
/// workspace it takes. Nothing made from it can run.
KernelRegistry make_kernel_registry_for(std::string_view properties_json, const MathOptions& options);

}  // namespace mirrortrain::cuda
