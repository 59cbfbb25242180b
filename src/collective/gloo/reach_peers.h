#pragma once

#include <string>

#include "base/descriptor.h"
#include "collective/process_group.h"

namespace mirrortrain {

/// Waits until the ranks reach each other over TCP, at ports that the system chooses, in the direction in which gloo
/// connects them: gloo does not say which connection of how many hangs, and tries for minutes where a firewall drops
/// packets. All ranks call it at the same time; each keeps what it returns, at which others may still connect, until
/// all have returned. Warns once, naming both addresses, of ranks that are not reached within 5 s. Throws
/// std::runtime_error, naming them, if one is not reached within `timeout_seconds` (0: no limit), nothing can listen on
/// `host`, or others cannot reach that; Error if the group has failed meanwhile.
[[nodiscard]] Descriptor reach_peers(int rank, int size, const std::string& host, double timeout_seconds,
                                     const RendezvousStore& meeting);

}  // namespace mirrortrain
