#include "kernels/cuda/cudnn.h"

#include "device/cuda/cuda_check.h"
#include "kernels/cuda/cudnn_library.h"

namespace mirrortrain::cuda {

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

}  // namespace mirrortrain::cuda
