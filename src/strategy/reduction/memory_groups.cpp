#include "strategy/reduction/memory_groups.h"

#include <memory>
#include <utility>

namespace mirrortrain {

Communicators communicators_along(ops::Axis axis, const Topology& topology, const MakeGroup& make) {
  const std::vector<DomainPlace> domains = topology.domains();
  const int first = domains.front().rank, end = domains.back().rank + 1;
  const auto made = std::make_shared<std::vector<Communicators>>();
  std::vector<Communicator*> ranks(domains.size());
  for (const std::vector<int>& memories : topology.memory_groups(axis)) {
    MemoryGroup group{memories};
    for (const int memory : memories) {
      if (memory < first) ++group.first_rank;
      if (memory >= first && memory < end) group.here.push_back(static_cast<std::size_t>(memory - first));
    }
    if (group.here.empty()) continue;
    const Communicators& own = made->emplace_back(make(group));
    for (std::size_t i = 0; i < group.here.size(); ++i) ranks[group.here[i]] = own.ranks[i];
  }
  if (made->empty()) return {};
  return {made, std::move(ranks)};
}

}  // namespace mirrortrain
