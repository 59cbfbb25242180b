#pragma once

#include <array>
#include <cstdint>

#include "simulated_gpu/host_cuda.h"

namespace mirrortrain::cuda::host {

/// As exchange(), with what every lane of the warp gave.
std::array<std::uint64_t, 32> exchange_all(std::uint64_t value, const Place& place);

}  // namespace mirrortrain::cuda::host
