#pragma once

#include <memory>

#include "cluster/mpi/session.h"
#include "collective/communicator.h"
#include "collective/process_group.h"

namespace mirrortrain {

/// This process's rank of a group of all that MPI's launcher started, rank r being MPI's; its elements are in host
/// memory. Every process makes its communicators in the same order; each has messages of its own. On a CPU's stream the
/// calling thread waits inside an operation.
///
/// A sum adds in rank order whatever the size, the number of ranks and the MPI library: rank r gets everybody's r-th
/// shard (shard_of), adds them as 0 + 1 + 2 + ..., and hands the sum to all. Each rank so sends and receives
/// 2 (N - 1) / N of the elements, in two rounds. Few elements go to everybody in one round, and everybody adds them
/// all, in the same order. MPI_Iallreduce would leave the order to the library, and Open MPI's sends everything through
/// a tree when it works in place.
///
/// An operation that waits for longer than `timeout_seconds` (0: no limit) fails, naming it and the workers that did
/// not come; the others learn of a failure and of `abort` by a message, at the latest when they wait or check. Ranks
/// that disagree about an operation fail. After a failure messages may still arrive in a rank's elements, which so must
/// live until the process ends.
///
/// Throws UsageError where the executable has no MPI, Error where the other processes do not make theirs in time.
std::unique_ptr<Communicator> make_mpi_communicator(std::shared_ptr<mpi::Session> session, double timeout_seconds,
                                                    OperationWatch watch = {});

}  // namespace mirrortrain
