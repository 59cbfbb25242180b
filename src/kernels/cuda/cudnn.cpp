#include "kernels/cuda/cudnn.h"

#include "device/cuda/cuda_check.h"
#include "kernels/cuda/cudnn_library.h"

namespace mirrortrain::cuda {

Cudnn::Cudnn(int index, const MathOptions& options)
    : properties_(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR), options_(options) {
  properties_.set(CUDNN_ATTR_DEVICEPROP_DEVICE_ID, std::int32_t{index});
  properties_.finalize("a GPU's properties");
  const CurrentDevice current(index);
  check(cudnn_library().create(&handle_), "cudnnCreate");
}

Cudnn::Cudnn(std::string_view properties_json, const MathOptions& options)
    : properties_(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR), options_(options) {
  properties_.set_text(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, properties_json);
  properties_.finalize("a GPU's description");
}

Cudnn::~Cudnn() {
  if (handle_ != nullptr) cudnn_library().destroy(handle_);
}

}  // namespace mirrortrain::cuda
