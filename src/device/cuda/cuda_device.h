#pragma once

#include <memory>

#include "device/device.h"

namespace mirrortrain {

/// The index-th visible GPU. Throws UsageError, with the reason, if it does not exist or this build has no CUDA.
std::unique_ptr<Device> make_cuda_device(int index);

}  // namespace mirrortrain
