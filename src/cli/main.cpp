#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/logging.h"
#include "config/scalar.h"
#include "device/cpu/cpu_device.h"
#include "train/non_finite.h"

namespace {

/// Throws UsageError for a first word that is not a command: the parser would only report a missing one.
void require_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  if (std::ranges::count(names, argv[1]) > 0) return;
  throw mirrortrain::UsageError(fmt::format("there is no command '{}'; the commands are {}{}",
                                            mirrortrain::shortened(argv[1]), fmt::join(names, ", "),
                                            mirrortrain::config::suggestion(argv[1], names)));
}

/// A file that is opened must not become stdin, stdout or stderr, where those were closed.
void reserve_standard_streams() {
  int descriptor = 0;
  do {
    descriptor = ::open("/dev/null", O_RDWR);
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor >= 0) ::close(descriptor);
}

/// Results that did not reach stdout are lost.
int checked(int exit_code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  std::fprintf(stderr, "error: cannot write to stdout: %s; the results are lost\n", std::strerror(errno));
  return exit_code == 0 ? 1 : exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace mirrortrain;
  reserve_standard_streams();
  try {
    require_compiled_instructions();
    std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of who writes it
    CLI::App app("Trains neural networks described in YAML, synchronously on all devices of this machine.",
                 "mirrortrain");
    app.set_version_flag("--version", std::string("mirrortrain ") + MIRRORTRAIN_VERSION);
    app.require_subcommand(1);
    int exit_code = 0;
    cli::set_up_logging();
    cli::add_fit(app, exit_code);
    cli::add_eval(app, exit_code);
    cli::add_predict(app, exit_code);
    cli::add_init(app, exit_code);
    cli::add_bench_allreduce(app, exit_code);
    cli::add_verify(app, exit_code);
    cli::add_plan(app, exit_code);
    cli::add_config(app, exit_code);
    cli::add_checkpoint(app, exit_code);
    cli::add_devices(app, exit_code);
    cli::add_launch(app, exit_code);
    require_command(app, argc, argv);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return checked(app.exit(error) == 0 ? 0 : 2);
    }
    return checked(exit_code);
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const std::system_error& error) {
    const bool no_threads = error.code() == std::errc::resource_unavailable_try_again;
    std::fprintf(stderr, "error: %s%s\n", error.what(),
                 no_threads ? ": the system starts no more threads; raise the limit of processes (ulimit -u)" : "");
    return 1;
  } catch (const NonFinite& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 3;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
