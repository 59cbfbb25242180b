#pragma once

#include <string>
#include <vector>

#include "base/descriptor.h"
#include "collective/gloo/gloo_communicator.h"
#include "collective/process_group.h"

namespace mirrortrain {

/// Waits until this rank and its `peers` reach each other over TCP, at ports that the system chooses, in the direction
/// in which gloo connects them: gloo does not say which connection of how many hangs, and tries for minutes where a
/// firewall drops packets. All ranks of the group call it at the same time, and each is a peer of its peers; each keeps
/// what it returns, at which others may still connect, until all have returned. `name` distinguishes several such calls
/// of a group apart. Warns once, naming both addresses, of peers that are not reached within 5 s. Throws Unreachable if
/// one is not reached within the options' reach_seconds or timeout_seconds, std::runtime_error if nothing can listen on
/// their host, or others cannot reach that; Error if the group has failed meanwhile.
[[nodiscard]] Descriptor reach_peers(const std::string& name, const std::vector<int>& peers, const GlooOptions& options,
                                     const RendezvousStore& rendezvous);

}  // namespace mirrortrain
