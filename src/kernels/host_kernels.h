#pragma once

#include <cstdint>

#include "kernels/backend.h"

namespace mirrortrain {

/// For variables in the host's memory, which no lane computes with: a parameter server's. Its kernels return when they
/// are done, whatever the stream.
const Backend& host_backend();

}  // namespace mirrortrain
