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

/// Prevents files opened later from becoming stdin, stdout or stderr if those were closed.
void reserve_standard_streams() {
  // Writes to a closed stdout fail, because results must not be lost; stderr's text may be.
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    if (::open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY) != descriptor) return;
  }
}

void note_inherited() {
  for (std::size_t i = 0; i < kStops.size(); ++i) ::sigaction(kStops[i], nullptr, &inherited[i]);
}
void prepare() {
  note_inherited();
  reserve_standard_streams();
}
// Before the constructors of all libraries, which change handlers and open files; only the executable's own sources may
// request this.
[[gnu::used, gnu::section(".preinit_array")]] void (*const prepare_first)() = prepare;

/// Restores the dispositions of SIGINT, SIGTERM and SIGHUP with which this process was started. Libraries (libpsm2,
/// used by Open MPI) replace them by their own handlers before main, even if nohup has a signal ignored.
void restore_stop_signals() {
  for (std::size_t i = 0; i < kStops.size(); ++i) ::sigaction(kStops[i], &inherited[i], nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace mirrortrain::cli;
  restore_stop_signals();
  set_up_logging();
  return run_program(argc, argv);
}
