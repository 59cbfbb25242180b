// Stands in for the CUDA side in a build without it.
#include <fmt/format.h>

#include "base/error.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/gpus.h"

namespace mirrortrain {

cuda::Gpus cuda::visible_gpus() { return {{}, "no GPU support in this executable: " MIRRORTRAIN_CUDA_ABSENT}; }

void cuda::enable_peer_access(std::span<const int>) {}  // there are no GPUs

std::unique_ptr<Device> make_cuda_device(int index) {
  throw UsageError(fmt::format("cuda:{} does not exist: {}", index, cuda::visible_gpus().why_none));
}

}  // namespace mirrortrain
