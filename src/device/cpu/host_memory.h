#pragma once

#include "device/device.h"

namespace mirrortrain {

/// Zeroed memory of this machine, in huge pages where it is large. Throws Error, naming the bytes, where there is none.
Buffer allocate_host_memory(std::size_t bytes);

/// Of this machine.
DeviceMemory host_memory();

}  // namespace mirrortrain
