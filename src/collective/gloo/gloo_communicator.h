#pragma once

#include <memory>
#include <string>

#include "collective/communicator.h"
#include "collective/gloo/small_message.h"
#include "collective/process_group.h"

namespace mirrortrain {

/// One rank of a group of processes that add in host memory, over TCP: small arrays at once, by an exchange of all with
/// all, others in parts, of which each rank adds one. Sums are in the order of the ranks, but for large arrays of more
/// than most_direct_ranks: these go around gloo's ring, where the order also depends on the number of elements.
struct GlooOptions {
  int rank = 0, size = 1;
  std::string host;                          ///< a name or address of this machine, to which the others connect
  double timeout_seconds = 60;               ///< of each operation; 0: none
  int most_direct_ranks = kMostDirectRanks;  ///< for which each connects to each other one
  double reach_seconds = 0;  ///< in which ranks must reach each other, if less than timeout_seconds; 0: that
};

/// Connects to the other ranks, to all of them or of many to a few; all ranks call it at the same time. Throws Error if
/// a rank does not connect in time or the host is not this machine's, UsageError in a build without gloo.
std::unique_ptr<Communicator> make_gloo_communicator(const GlooOptions& options, const RendezvousStore& rendezvous,
                                                     OperationWatch watch);

/// Why there is no gloo, as a sentence; empty if there is.
std::string why_no_gloo();

}  // namespace mirrortrain
