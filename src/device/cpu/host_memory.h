#pragma once

#include "device/device.h"

namespace mirrortrain {

/// Zeroed memory of this machine, in huge pages that come when they are touched where it is large. Throws Error, naming
/// the bytes, where there is none.
Buffer allocate_host_memory(std::size_t bytes);

/// Of this machine; free is what it could give to this process, which may be in a container with a limit.
DeviceMemory host_memory();

}  // namespace mirrortrain
