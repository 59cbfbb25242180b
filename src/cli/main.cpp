#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/logging.h"
#include "cli/stop_signals.h"
#include "cli/usage.h"
#include "device/cpu/cpu_device.h"
#include "train/non_finite.h"

namespace {

/// A file that is opened must not become stdin, stdout or stderr, where those were closed.
void reserve_standard_streams() {
  // Writing to a stdout that was closed fails, as results are lost; stderr's text may be.
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    if (::open("/dev/null", descriptor == STDERR_FILENO ? O_WRONLY : O_RDONLY) != descriptor) return;
  }
}

/// Threads get stacks of the same size; where one is full there is no error to show, but a segmentation fault.
void require_stack() {
  constexpr rlim_t kLeast = 512;  // KiB
  rlimit limit{};
  if (::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kLeast * 1024) return;
  throw mirrortrain::Error("the stack is limited to " + std::to_string(limit.rlim_cur / 1024) +
                           " KiB, expected at least " + std::to_string(kLeast) + "; raise the limit: ulimit -s 8192");
}

/// Results that did not reach stdout are lost.
int checked(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  mirrortrain::cli::print_error(std::string("error: cannot write to stdout: ") + std::strerror(errno) +
                                "; the results are lost");
  return exit_code == 0 ? 1 : exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace mirrortrain;
  reserve_standard_streams();
  cli::restore_stop_signals();
  cli::set_up_logging();
  try {
    require_stack();
    require_compiled_instructions();
    std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of who writes it
    CLI::App app("Trains neural networks described in YAML, synchronously on all devices of this machine.",
                 "mirrortrain");
    app.set_version_flag("--version", std::string("mirrortrain ") + MIRRORTRAIN_VERSION);
    app.require_subcommand(1);
    int exit_code = 0;
    cli::use_help_text(app);
    cli::add_fit(app, exit_code);
    cli::add_eval(app, exit_code);
    cli::add_predict(app, exit_code);
    cli::add_generate(app, exit_code);
    cli::add_init(app, exit_code);
    cli::add_bench_allreduce(app, exit_code);
    cli::add_verify(app, exit_code);
    cli::add_plan(app, exit_code);
    cli::add_config(app, exit_code);
    cli::add_checkpoint(app, exit_code);
    cli::add_devices(app, exit_code);
    cli::add_runs(app, exit_code);
    cli::add_report(app, exit_code);
    cli::add_launch(app, exit_code);
    cli::add_usage(app, exit_code);
    cli::add_output_options(app);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return checked(app.exit(error));  // help and version
      cli::print_error(cli::refused_text(app, error));
      return 2;
    }
    return checked(exit_code);
  } catch (const UsageError& error) {
    cli::print_error(error.what());
    return 2;
  } catch (const std::filesystem::filesystem_error& error) {
    cli::print_error("error: cannot access " + error.path1().string() + ": " + error.code().message());
    return error.code() == std::errc::filename_too_long ? 2 : 1;
  } catch (const std::bad_alloc&) {
    cli::print_error(
        "error: not enough memory; use a smaller model, batch or data set, or raise the limit of memory (ulimit -v)");
    return 1;
  } catch (const std::system_error& error) {
    const bool no_threads = error.code() == std::errc::resource_unavailable_try_again;
    cli::print_error(
        std::string("error: ") + error.what() +
        (no_threads
             ? ": the system starts no more threads; raise the limit of processes (ulimit -u) or of memory (ulimit -v)"
             : ""));
    return 1;
  } catch (const NonFinite& error) {
    cli::print_error(std::string("error: ") + error.what());
    return 3;
  } catch (const std::exception& error) {
    cli::print_error(std::string("error: ") + error.what());
    return 1;
  }
}
