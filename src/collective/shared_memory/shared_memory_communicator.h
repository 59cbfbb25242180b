#pragma once

#include <memory>

#include "collective/communicator.h"
#include "collective/process_group.h"

namespace mirrortrain {

/// One rank of a group of processes on one machine, which add through memory that they share: each copies its elements
/// there, adds its shard of everybody's in rank order, and copies the others' sums back. What `allocate` gave is added
/// in place. Null, on every rank, where they have no such memory; see SharedSegment::open. `timeout_seconds`: of each
/// operation; 0: none. `meeting` is met at again by `allocate`.
std::unique_ptr<Communicator> make_shared_memory_communicator(int rank, int size, double timeout_seconds,
                                                              const RendezvousStore& meeting, OperationWatch watch);

}  // namespace mirrortrain
