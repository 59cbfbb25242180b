#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "collective/nccl/nccl_communicator.h"

namespace mirrortrain {

void require_gpus_of_their_own(std::span<const int> gpus) {
  for (auto gpu = gpus.begin(); gpu != gpus.end(); ++gpu) {
    const auto first = std::find(gpus.begin(), gpu, *gpu);
    if (first == gpu) continue;
    throw UsageError(
        fmt::format("nccl: ranks {} and {} are both on cuda:{}, and NCCL takes one rank per GPU; let one rank add the "
                    "replicas of a GPU first",
                    first - gpus.begin(), gpu - gpus.begin(), *gpu));
  }
}

}  // namespace mirrortrain
