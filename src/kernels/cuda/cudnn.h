#pragma once

#include <cudnn_graph.h>

#include <optional>
#include <string>
#include <string_view>

#include "kernels/cuda/backend.h"
#include "kernels/cuda/choices.h"
#include "kernels/cuda/cudnn_descriptor.h"

namespace mirrortrain::cuda {

/// cuDNN's functions, those of its graph API.
struct CudnnLibrary {
  decltype(&::cudnnGetVersion) get_version;
  decltype(&::cudnnGetErrorString) get_error_string;
  decltype(&::cudnnGetLastErrorString) get_last_error_string;
  decltype(&::cudnnCreate) create;
  decltype(&::cudnnDestroy) destroy;
  decltype(&::cudnnSetStream) set_stream;
  decltype(&::cudnnBackendCreateDescriptor) create_descriptor;
  decltype(&::cudnnBackendDestroyDescriptor) destroy_descriptor;
  decltype(&::cudnnBackendFinalize) finalize;
  decltype(&::cudnnBackendSetAttribute) set_attribute;
  decltype(&::cudnnBackendGetAttribute) get_attribute;
  decltype(&::cudnnBackendExecute) execute;
};

/// Opened at the first call. Throws Error where there is no cuDNN 9.8 or newer.
const CudnnLibrary& cudnn_library();

/// Throws Error naming the call and what cuDNN says of it, where it failed.
void check(cudnnStatus_t status, const char* call);

/// What cuDNN says of the last call that failed: "CUDNN_STATUS_NOT_SUPPORTED: ...".
std::string reason_of(cudnnStatus_t status);

/// What plans are made for: a GPU, or the description of one, which is enough to choose and compile everything but not
/// to run it. One per lane: its handle must not be used by two threads at once.
class Cudnn {
 public:
  /// The index-th visible GPU.
  Cudnn(int index, const MathOptions& options);
  /// A GPU that does not exist, described by cuDNN's JSON of its properties.
  Cudnn(std::string_view properties_json, const MathOptions& options);
  ~Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  /// Of a GPU that is only described, absent where there is a handle: cuDNN executes plans that were made with one.
  const std::optional<Descriptor>& description() const { return description_; }
  const MathOptions& options() const { return options_; }
  /// Null where the GPU is only described.
  cudnnHandle_t handle() const { return handle_; }
  /// The visible GPU's number; -1 where it is only described.
  int gpu() const { return gpu_; }
  /// Where what was measured is remembered; null where nothing is to be, or can be.
  Choices* choices() { return options_.autotune && handle_ != nullptr ? &choices_ : nullptr; }

 private:
  std::optional<Descriptor> description_;
  MathOptions options_;
  int gpu_ = -1;
  cudnnHandle_t handle_ = nullptr;
  Choices choices_;
};

}  // namespace mirrortrain::cuda
