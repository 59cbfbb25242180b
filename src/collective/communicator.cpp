#include "collective/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "collective/call_barrier.h"

namespace mirrortrain {

void Communicator::transfer(Stream&, Elements, int) { throw Error("this group sends nothing to one rank alone"); }

Shard shard_of(std::size_t count, int rank, int size) {
  const std::size_t grains = (count + kShardGrain - 1) / kShardGrain;
  const auto edge = [&](int part) {
    return std::min(count, grains * static_cast<std::size_t>(part) / static_cast<std::size_t>(size) * kShardGrain);
  };
  return {edge(rank), edge(rank + 1)};
}

void require_pair(const Communicator& rank, const Elements& elements, int from) {
  if (rank.size() == 2 && (from == 0 || from == 1)) return;
  throw Error(fmt::format("{}: rank {} of {} sends to the other one, which only a group of two has",
                          CollectiveCall{CollectiveCall::Operation::kTransfer, elements, nullptr, from}.text(), from,
                          rank.size()));
}

Communicators owned(std::vector<std::unique_ptr<Communicator>> ranks) {
  std::vector<Communicator*> pointers;
  for (const auto& rank : ranks) pointers.push_back(rank.get());
  return {std::make_shared<std::vector<std::unique_ptr<Communicator>>>(std::move(ranks)), std::move(pointers)};
}

}  // namespace mirrortrain
