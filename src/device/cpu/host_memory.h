#pragma once

#include "device/device.h"

namespace mirrortrain {

/// Zeroed memory of this machine, in huge pages where it is large. Throws Error, naming the bytes, where there is none.
Buffer allocate_host_memory(std::size_t bytes);

/// Bytes of this machine's memory that nobody uses.
std::size_t free_host_memory();

}  // namespace mirrortrain
