#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/logging.h"
#include "config/scalar.h"
#include "device/cpu/cpu_device.h"

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

}  // namespace

int main(int argc, char** argv) {
  using namespace mirrortrain;
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
    cli::add_devices(app, exit_code);
    cli::add_launch(app, exit_code);
    require_command(app, argc, argv);
    try {
      app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
      return app.exit(error) == 0 ? 0 : 2;
    }
    return exit_code;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
