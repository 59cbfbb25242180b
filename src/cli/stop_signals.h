#pragma once

#include <atomic>

namespace mirrortrain::cli {

/// From now on SIGINT and SIGTERM do not end the program but set the returned number to the signal's; a second one ends
/// it.
const std::atomic<int>& catch_stop_signals();

}  // namespace mirrortrain::cli
