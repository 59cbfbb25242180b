#include "cli/stop_signals.h"

#include <csignal>

namespace mirrortrain::cli {
namespace {

std::atomic<int> stop_signal = 0;
static_assert(std::atomic<int>::is_always_lock_free);  // else a handler must not touch it

void remember(int signal) {
  stop_signal = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

const std::atomic<int>& catch_stop_signals() {
  std::signal(SIGINT, remember);
  std::signal(SIGTERM, remember);
  return stop_signal;
}

}  // namespace mirrortrain::cli
