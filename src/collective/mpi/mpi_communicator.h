#pragma once

#include <memory>
#include <vector>

#include "cluster/mpi/session.h"
#include "collective/communicator.h"
#include "collective/process_group.h"

namespace mirrortrain {

/// This process's rank in the group of all processes that MPI's launcher started, numbered as in MPI, or of `members`
/// of them, in that order; its elements are in host memory. Every process creates its communicators in the same order;
/// each has its own MPI communicators. On a CPU's stream the calling thread waits inside an operation.
///
/// Sums are in rank order regardless of the size, the number of ranks and the MPI library: rank r receives every rank's
/// r-th shard (shard_of), adds them as 0 + 1 + 2 + ..., and sends the sum to all. Each rank thus sends and receives 2
/// (N - 1) / N of the elements, in two rounds. Few elements are sent to all ranks in one round, and every rank adds
/// them all, in the same order. MPI_Iallreduce would leave the order to the library, and Open MPI's in-place one sends
/// everything through a tree.
///
/// An operation that waits longer than `timeout_seconds` (0: no limit) fails, naming it and the missing workers; the
/// others learn of a failure and of `abort` by a message, at the latest when they wait or check. Ranks that disagree
/// about an operation fail. After a failure messages may still arrive in a rank's elements, which must therefore live
/// until the process ends.
///
/// Throws UsageError if the executable has no MPI, Error if the other processes do not make theirs in time.
std::unique_ptr<Communicator> make_mpi_communicator(std::shared_ptr<mpi::Session> session, double timeout_seconds,
                                                    OperationWatch watch = {}, std::vector<int> members = {});

}  // namespace mirrortrain
