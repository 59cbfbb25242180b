#pragma once

#include <atomic>

namespace mirrortrain::cli {

/// From now on SIGINT, SIGTERM and, unless it is ignored (nohup), SIGHUP do not end the program but set the returned
/// number to the signal's, which is acknowledged on a terminal. A second one ends it, unless it comes with the first:
/// some senders signal the process and its group.
const std::atomic<int>& catch_stop_signals();
/// The same without a word on the terminal, where the processes that this one waits for say it.
const std::atomic<int>& catch_stop_signals_quietly();

}  // namespace mirrortrain::cli
