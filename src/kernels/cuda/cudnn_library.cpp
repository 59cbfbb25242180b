#include "kernels/cuda/cudnn_library.h"

#include <fmt/format.h>

#include <array>

#include "base/error.h"
#include "device/cuda/shared_library.h"

namespace mirrortrain::cuda {
namespace {

constexpr std::size_t kOldest = 90800;  // plans for a described device

CudnnLibrary open() {
  const SharedLibrary library("libcudnn.so.9");
  const auto load = [&](auto& function, const char* name) {
    function = library.symbol<std::remove_reference_t<decltype(function)>>(name);
  };
  CudnnLibrary cudnn{};
  load(cudnn.get_version, "cudnnGetVersion");
  load(cudnn.get_error_string, "cudnnGetErrorString");
  load(cudnn.get_last_error_string, "cudnnGetLastErrorString");
  load(cudnn.create, "cudnnCreate");
  load(cudnn.destroy, "cudnnDestroy");
  load(cudnn.set_stream, "cudnnSetStream");
  load(cudnn.create_descriptor, "cudnnBackendCreateDescriptor");
  load(cudnn.destroy_descriptor, "cudnnBackendDestroyDescriptor");
  load(cudnn.finalize, "cudnnBackendFinalize");
  load(cudnn.set_attribute, "cudnnBackendSetAttribute");
  load(cudnn.get_attribute, "cudnnBackendGetAttribute");
  load(cudnn.execute, "cudnnBackendExecute");
  if (const std::size_t version = cudnn.get_version(); version < kOldest) {
    throw Error(fmt::format("cuDNN {}.{} was found, 9.8 or newer is needed", version / 10000, version / 100 % 100));
  }
  return cudnn;
}

}  // namespace

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
