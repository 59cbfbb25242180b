#include "kernels/cuda/cudnn.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"
#include "device/cuda/cuda_check.h"
#include "device/cuda/shared_library.h"

namespace mirrortrain::cuda {
namespace {

constexpr std::size_t kOldest = 90800;  // plans for a described device

CudnnLibrary open() {
  const SharedLibrary library("libcudnn.so.9");
  CudnnLibrary cudnn{};
  library.load(cudnn.get_version, "cudnnGetVersion");
  library.load(cudnn.get_error_string, "cudnnGetErrorString");
  library.load(cudnn.get_last_error_string, "cudnnGetLastErrorString");
  library.load(cudnn.create, "cudnnCreate");
  library.load(cudnn.destroy, "cudnnDestroy");
  library.load(cudnn.set_stream, "cudnnSetStream");
  library.load(cudnn.create_descriptor, "cudnnBackendCreateDescriptor");
  library.load(cudnn.destroy_descriptor, "cudnnBackendDestroyDescriptor");
  library.load(cudnn.finalize, "cudnnBackendFinalize");
  library.load(cudnn.set_attribute, "cudnnBackendSetAttribute");
  library.load(cudnn.get_attribute, "cudnnBackendGetAttribute");
  library.load(cudnn.execute, "cudnnBackendExecute");
  if (const std::size_t version = cudnn.get_version(); version < kOldest) {
    throw Error(fmt::format("cuDNN {}.{} was found, 9.8 or newer is needed", version / 10000, version / 100 % 100));
  }
  return cudnn;
}

}  // namespace

Cudnn::Cudnn(int index, const MathOptions& options) : options_(options), gpu_(index) {
  const CurrentDevice current(index);
  check(cudnn_library().create(&handle_), "cudnnCreate");
}

Cudnn::Cudnn(std::string_view properties_json, const MathOptions& options) : options_(options) {
  description_.emplace(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  description_->set_text(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, properties_json);
  description_->finalize("a GPU's description");
}

Cudnn::~Cudnn() {
  if (handle_ == nullptr) return;
  const CurrentDevice current(gpu_, std::nothrow);  // not the thread's own where it ends several lanes
  cudnn_library().destroy(handle_);
}

const CudnnLibrary& cudnn_library() {
  static const CudnnLibrary library = open();
  return library;
}

std::string reason_of(cudnnStatus_t status) {
  std::array<char, 512> text{};
  cudnn_library().get_last_error_string(text.data(), text.size());
  return fmt::format("{}{}{}", cudnn_library().get_error_string(status), text[0] ? ": " : "", text.data());
}

void check(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS) throw Error(fmt::format("{} failed: {}", call, reason_of(status)));
}

}  // namespace mirrortrain::cuda
