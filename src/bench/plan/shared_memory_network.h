#pragma once

#include <optional>

#include "bench/plan/network.h"

namespace mirrortrain::plan {

/// What carries sums between processes of this machine that share memory, as a network that would take as long:
/// measured in about a tenth of a second, between two threads. Nothing where they would have no such memory.
std::optional<Network> measure_shared_memory();

}  // namespace mirrortrain::plan
