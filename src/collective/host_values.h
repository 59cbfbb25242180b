#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "collective/communicator.h"

namespace mirrortrain {

// What ranks send each other in host memory, besides gradients. Every rank calls these at the same time; they return
// when it is done, and throw what the communicator throws. `what` it is, for errors, outlives the communicator.

/// Returns once every rank has called it.
void barrier(Communicator& communicator);

/// `all`: as many values for each rank, in the ranks' order, of which each fills in its own; all ranks get all.
void gather(Communicator& communicator, std::span<double> all, std::string_view what);

/// Every rank's bytes become rank 0's, exactly: a sum of integers to which the others add zeros.
void take_from_chief(Communicator& communicator, std::span<std::byte> bytes, std::string_view what);

}  // namespace mirrortrain
