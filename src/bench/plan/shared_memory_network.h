#pragma once

#include <optional>

#include "bench/plan/network_speed.h"

namespace mirrortrain::plan {

/// The shared-memory transport between processes of this machine, as a network of equal speed: measured in about a
/// tenth of a second, between two threads. nullopt if shared memory is unavailable.
std::optional<Network> measure_shared_memory();

}  // namespace mirrortrain::plan
