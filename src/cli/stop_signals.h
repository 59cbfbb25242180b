#pragma once

#include <atomic>

namespace mirrortrain::cli {

/// After this call, SIGINT, SIGTERM and, unless it is ignored (nohup), SIGHUP do not end the program but set the
/// returned number to the signal's, which is acknowledged on a terminal. A second one ends it, unless it arrives with
/// the first: some senders signal the process and its group.
const std::atomic<int>& catch_stop_signals();
/// The same without a message on the terminal, if the child processes that this one waits for print it.
const std::atomic<int>& catch_stop_signals_quietly();

}  // namespace mirrortrain::cli
