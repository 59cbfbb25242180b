#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "collective/communicator.h"
#include "strategy/topology.h"

namespace mirrortrain {

/// Memories that exchange with each other, of which some are this process's.
struct MemoryGroup {
  std::vector<int> memories;      ///< their numbers in the run, ascending, as their ranks are
  int first_rank = 0;             ///< of those here
  std::vector<std::size_t> here;  ///< their numbers in this process
};

/// Creates a group: its ranks in this process, in order.
using MakeGroup = std::function<Communicators(const MemoryGroup&)>;

/// This process's ranks in the groups of memories along an axis, one for each of its memories; none if each memory is
/// alone there. Calls `make` for each group with a memory of this process, in the order that is the same everywhere.
Communicators communicators_along(ops::Axis axis, const Topology& topology, const MakeGroup& make);

}  // namespace mirrortrain
