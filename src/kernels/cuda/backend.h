#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/shared_library.h"
#include "kernels/backend.h"
#include "kernels/kernel.h"

namespace mirrortrain::cuda {

/// How matrix multiplications and convolutions may be computed.
struct MathOptions {
  bool tf32 = true;  ///< float32 multiplications on tensor cores, inputs rounded to 10 bits, as Keras and TensorFlow do
  bool deterministic = true;  ///< only algorithms that give the same bits each time
  /// Convolution algorithms that need more are skipped; some would use a GiB for a network's first layer.
  std::size_t most_workspace_bytes = std::size_t{512} << 20;
  /// Of the libraries' proposals, use the one that is measured fastest rather than the one predicted fastest.
  bool autotune = false;
  std::function<void(const std::string& text)> notice;  ///< for the log; may be absent
};

/// GPUs: cuDNN, cuBLASLt and custom kernels. Throws UsageError in a build without CUDA.
std::unique_ptr<Backend> make_backend(const MathOptions& options);

/// Every kernel of the CUDA backend for the index-th visible GPU. A lane has its own: the libraries' handles in it must
/// not be used by two threads at once. Its kernels share ownership of what they need from it. Throws Error if a library
/// is missing.
KernelRegistry make_kernel_registry(int gpu, const MathOptions& options);

/// The same for a GPU that does not exist, described by cuDNN's JSON of its properties: shows what can be planned and
/// with how much workspace. Its kernels cannot run.
KernelRegistry make_kernel_registry_for(std::string_view properties_json, const MathOptions& options);

/// Opens cuDNN and cuBLASLt, as every run on GPUs does. None in a build without CUDA.
std::vector<LibraryState> find_libraries();

}  // namespace mirrortrain::cuda
