#include "collective/communicator.h"

#include <algorithm>
#include <utility>

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

std::vector<Communicator*> pointers_to(const std::vector<std::unique_ptr<Communicator>>& ranks) {
  std::vector<Communicator*> pointers;
  for (const auto& rank : ranks) pointers.push_back(rank.get());
  return pointers;
}

Communicators owned(std::vector<std::unique_ptr<Communicator>> ranks) {
  std::vector<Communicator*> pointers = pointers_to(ranks);
  return {std::make_shared<std::vector<std::unique_ptr<Communicator>>>(std::move(ranks)), std::move(pointers)};
}

}  // namespace mirrortrain
