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

/// Loaded at the first call. Throws Error if there is no cuDNN 9.8 or newer.
const CudnnLibrary& cudnn_library();

/// Throws Error naming the call and cuDNN's message if it failed.
void check(cudnnStatus_t status, const char* call);

/// cuDNN's message for the last failed call: "CUDNN_STATUS_NOT_SUPPORTED: ...".
std::string reason_of(cudnnStatus_t status);

/// The target of plans: a GPU, or the description of one, which is enough to choose and compile everything but not to
/// run it. One per lane: its handle must not be used by two threads at once.
class Cudnn {
 public:
  /// The index-th visible GPU.
  Cudnn(int index, const MathOptions& options);
  /// A GPU that does not exist, described by cuDNN's JSON of its properties.
  Cudnn(std::string_view properties_json, const MathOptions& options);
  ~Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  /// Set for a GPU that is only described, absent if there is a handle: cuDNN executes only plans made with a handle.
  const std::optional<Descriptor>& description() const { return description_; }
  const MathOptions& options() const { return options_; }
  /// Null where the GPU is only described.
  cudnnHandle_t handle() const { return handle_; }
  /// The visible GPU's number; -1 where it is only described.
  int gpu() const { return gpu_; }
  /// The cache of measured choices; null if nothing is to be measured or can be.
  Choices* choices() { return options_.autotune && handle_ != nullptr ? &choices_ : nullptr; }

 private:
  std::optional<Descriptor> description_;
  MathOptions options_;
  int gpu_ = -1;
  cudnnHandle_t handle_ = nullptr;
  Choices choices_;
};

}  // namespace mirrortrain::cuda
