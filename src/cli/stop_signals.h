#pragma once

#include <atomic>

namespace mirrortrain::cli {

/// From now on SIGINT, SIGTERM and, unless it is ignored (nohup), SIGHUP do not end the program but set the returned
/// number to the signal's. A second one ends it, unless it comes with the first: some senders tell the process and its
/// group.
const std::atomic<int>& catch_stop_signals();

}  // namespace mirrortrain::cli
