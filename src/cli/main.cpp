#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/logging.h"
#include "device/cpu/cpu_device.h"

int main(int argc, char** argv) {
  using namespace mirrortrain;
  try {
    require_compiled_instructions();
    CLI::App app("Trains the neural network of a YAML file, synchronously, on every device of this machine.",
                 "mirrortrain");
    app.set_version_flag("--version", std::string("mirrortrain ") + MIRRORTRAIN_VERSION);
    app.require_subcommand(1);
    int exit_code = 0;
    cli::set_up_logging();
    cli::add_fit(app, exit_code);
    cli::add_eval(app, exit_code);
    cli::add_bench_allreduce(app, exit_code);
    cli::add_verify(app, exit_code);
    cli::add_config(app, exit_code);
    cli::add_devices(app, exit_code);
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
