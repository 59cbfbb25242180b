#include "cli/stop_signals.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <string_view>

namespace mirrortrain::cli {
namespace {

std::atomic<int> stop_signal = 0;
std::atomic<std::int64_t> stop_time = 0;
std::atomic<bool> acknowledges_nothing = false;
// Otherwise a signal handler must not use them.
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<std::int64_t>::is_always_lock_free);

constexpr std::int64_t kTogether = 250'000'000;  // nanoseconds

std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Called in a signal handler: only system calls.
void acknowledge() {
  constexpr std::string_view kNote = "\nstopping after this step; press again to quit at once\n";
  const int error = errno;
  if (::isatty(STDERR_FILENO) != 0 && ::write(STDERR_FILENO, kNote.data(), kNote.size()) < 0) {
    // There is no other output.
  }
  errno = error;
}

void remember(int signal) {
  int none = 0;
  if (stop_signal.compare_exchange_strong(none, signal)) {
    stop_time = now();
    if (!acknowledges_nothing) acknowledge();
  } else if (stop_time != 0 && now() - stop_time > kTogether) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

const std::atomic<int>& catch_stop_signals() {
  std::signal(SIGINT, remember);
  std::signal(SIGTERM, remember);
  struct sigaction of_hangup {};
  ::sigaction(SIGHUP, nullptr, &of_hangup);
  if (of_hangup.sa_handler != SIG_IGN) std::signal(SIGHUP, remember);
  return stop_signal;
}

const std::atomic<int>& catch_stop_signals_quietly() {
  acknowledges_nothing = true;
  return catch_stop_signals();
}

}  // namespace mirrortrain::cli
