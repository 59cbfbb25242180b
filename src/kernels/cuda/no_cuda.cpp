// Stands in for the CUDA kernels in a build without them.
#include "base/error.h"
#include "device/cuda/gpus.h"
#include "kernels/cuda/backend.h"

namespace mirrortrain::cuda {

KernelRegistry make_kernel_registry(int, const MathOptions&) { throw UsageError(visible_gpus().why_none); }

KernelRegistry make_kernel_registry_for(std::string_view, const MathOptions&) {
  throw UsageError(visible_gpus().why_none);
}

std::vector<LibraryState> find_libraries() { return {}; }

std::unique_ptr<Backend> make_backend(const MathOptions&) { throw UsageError(visible_gpus().why_none); }

}  // namespace mirrortrain::cuda
