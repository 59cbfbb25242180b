#include "collective/communicator.h"

#include <algorithm>

namespace mirrortrain {

Shard shard_of(std::size_t count, int rank, int size) {
  // Whole cache lines of floats, so that two ranks never write to one line.
  constexpr std::size_t kGrain = 16;
  const std::size_t grains = (count + kGrain - 1) / kGrain;
  const auto edge = [&](int part) {
    return std::min(count, grains * static_cast<std::size_t>(part) / static_cast<std::size_t>(size) * kGrain);
  };
  return {edge(rank), edge(rank + 1)};
}

}  // namespace mirrortrain
