#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>

#include "cli/logging.h"
#include "cli/run_program.h"

namespace {

constexpr std::array kStops = {SIGINT, SIGTERM, SIGHUP};
std::array<struct sigaction, kStops.size()> inherited;

void note_inherited() {
  for (std::size_t i = 0; i < kStops.size(); ++i) ::sigaction(kStops[i], nullptr, &inherited[i]);
}
// Before the constructors of any library; the executable's own sources alone may ask for that.
[[gnu::used, gnu::section(".preinit_array")]] void (*const note_first)() = note_inherited;

/// Gives SIGINT, SIGTERM and SIGHUP back the meaning that this process was started with. Libraries (libpsm2, below Open
/// MPI) put handlers of their own in their place before main, also where nohup has a signal ignored.
void restore_stop_signals() {
  for (std::size_t i = 0; i < kStops.size(); ++i) ::sigaction(kStops[i], &inherited[i], nullptr);
}

/// A file that is opened must not become stdin, stdout or stderr, where those were closed.
void reserve_standard_streams() {
  // Writing to a stdout that was closed fails, as results are lost; stderr's text may be.
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    if (::open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY) != descriptor) return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace mirrortrain::cli;
  reserve_standard_streams();
  restore_stop_signals();
  set_up_logging();
  return run_program(argc, argv);
}
