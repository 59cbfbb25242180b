#pragma once

#include "bench/plan/network_speed.h"

namespace mirrortrain::plan {

/// The network between processes of this machine, TCP over the loopback, measured in about a tenth of a second: two
/// threads send each other equally many bytes at the same time, as neighbours in a ring do. Throws Error if the system
/// rejects a connection.
Network measure_loopback();

}  // namespace mirrortrain::plan
