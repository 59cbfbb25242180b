#pragma once

#include <algorithm>
#include <cstddef>

namespace mirrortrain {

/// Bytes of the largest message that each of `ranks` sends to every other one at once, in one delay of the network (in
/// doubling_steps(ranks) beyond kMostDirectRanks), rather than around a ring: up to there the ring's delays, two for
/// each message, cost more than the bytes.
constexpr std::size_t largest_small_message(int ranks) {
  constexpr std::size_t kLargest = 32 << 10, kToAllOthers = 512 << 10, kLine = 64;
  return std::min(kLargest, kToAllOthers / static_cast<std::size_t>(std::max(ranks - 1, 1)) / kLine * kLine);
}

constexpr bool is_small_message(std::size_t bytes, int ranks) { return bytes <= largest_small_message(ranks); }

/// Up to so many ranks each has a connection to each other one. Connections grow with the square of the ranks, and so
/// do the messages of an exchange of all with all, which the processor pays for.
inline constexpr int kMostDirectRanks = 32;

/// Exchanges with ranks at the distances 1, 2, 4, ... after which each has what all others have.
constexpr int doubling_steps(int ranks) {
  int steps = 0;
  while (1 << steps < ranks) ++steps;
  return steps;
}

}  // namespace mirrortrain
