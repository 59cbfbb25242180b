#pragma once

#include <algorithm>
#include <cstddef>

namespace mirrortrain {

/// Bytes of the largest message that each of `ranks` sends to every other one at once, in one delay of the network,
/// rather than around a ring: up to there the ring's delays, two for each message, cost more than the bytes.
constexpr std::size_t largest_small_message(int ranks) {
  constexpr std::size_t kLargest = 32 << 10, kToAllOthers = 512 << 10, kLine = 64;
  return std::min(kLargest, kToAllOthers / static_cast<std::size_t>(std::max(ranks - 1, 1)) / kLine * kLine);
}

constexpr bool is_small_message(std::size_t bytes, int ranks) { return bytes <= largest_small_message(ranks); }

}  // namespace mirrortrain
