#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "collective/communicator.h"

namespace mirrortrain {

// Small exchanges in host memory, besides gradients. Every rank calls these at the same time; they return when done,
// and throw what the communicator throws. `what` names the values in errors and outlives the communicator.

/// Returns once every rank has called it.
void barrier(Communicator& communicator);

/// `all` has the same number of values for each rank, in rank order; each rank fills in its own and receives all
/// others.
void gather(Communicator& communicator, std::span<double> all, std::string_view what);

/// The most bytes that are merged at once.
inline constexpr std::size_t kMostMerged = std::size_t{4} << 20;

/// Merges bytes of which each is 0 on all ranks but one: exactly, as a sum of integers.
void merge(Communicator& communicator, std::span<std::byte> bytes, std::string_view what);

/// Broadcasts rank 0's bytes.
void take_from_chief(Communicator& communicator, std::span<std::byte> bytes, std::string_view what);

}  // namespace mirrortrain
