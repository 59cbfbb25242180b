#pragma once

#include <memory>
#include <string>

#include "collective/communicator.h"
#include "collective/process_group.h"

namespace mirrortrain {

/// One rank of a group of processes that add in host memory, over TCP: gloo's ring all-reduce, whose order of sums
/// follows from the ranks and the number of elements alone.
struct GlooOptions {
  int rank = 0, size = 1;
  std::string host;             ///< a name or address of this machine, at which the others connect
  double timeout_seconds = 60;  ///< of each operation; 0: none
};

/// Connects to every other rank; each makes its own at the same time. Throws Error where a rank does not come in time
/// or the host is not this machine's, UsageError in a build without gloo.
std::unique_ptr<Communicator> make_gloo_communicator(const GlooOptions& options, const RendezvousStore& meeting,
                                                     OperationWatch watch);

/// Nothing, or why there is no gloo, as a sentence.
std::string why_no_gloo();

}  // namespace mirrortrain
