#include "collective/communicator.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace mirrortrain {

void Communicator::transfer(Stream&, Elements, int) { throw Error("this group sends nothing to one rank alone"); }

Shard shard_of(std::size_t count, int rank, int size) {
  const std::size_t grains = (count + kShardGrain - 1) / kShardGrain;
  const auto edge = [&](int part) {
    return std::min(count, grains * static_cast<std::size_t>(part) / static_cast<std::size_t>(size) * kShardGrain);
  };
  return {edge(rank), edge(rank + 1)};
}

Communicators owned(std::vector<std::unique_ptr<Communicator>> ranks) {
  std::vector<Communicator*> pointers;
  for (const auto& rank : ranks) pointers.push_back(rank.get());
  return {std::make_shared<std::vector<std::unique_ptr<Communicator>>>(std::move(ranks)), std::move(pointers)};
}

}  // namespace mirrortrain
