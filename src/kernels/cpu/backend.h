#pragma once

#include "kernels/backend.h"

namespace mirrortrain::cpu {

/// CPU replicas: every device computes on threads of this process, in the host's memory.
const Backend& backend();

}  // namespace mirrortrain::cpu
