#pragma once

#include <cstddef>
#include <memory>

#include "collective/communicator.h"
#include "collective/process_group.h"

namespace mirrortrain {

/// One rank of a group of processes on one machine, which add through shared memory: each copies its elements there,
/// adds its shard of all ranks' elements in rank order, and copies the others' sums back. Memory from `allocate` is
/// added in place. Null on every rank if shared memory is unavailable; see SharedSegment::open. `timeout_seconds`: of
/// each operation; 0: none. `rendezvous` is used again by `allocate`.
std::unique_ptr<Communicator> make_shared_memory_communicator(int rank, int size, double timeout_seconds,
                                                              const RendezvousStore& rendezvous, OperationWatch watch);

/// Bytes of shared memory that each rank of such a group reads or writes, without memory from `allocate`.
std::size_t shared_memory_bytes(int size);

}  // namespace mirrortrain
