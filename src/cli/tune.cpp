#include "tune/tune.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/stop_signals.h"

namespace mirrortrain::cli {

void add_tune(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<tune::TuneArguments>();
  arguments->catch_stop_signals = catch_stop_signals_quietly;
  CLI::App* const command = app.add_subcommand(
      "tune", "Search for good values of a configuration's keys, as its section search says; continues a study.");
  add_configuration(*command, arguments->config, arguments->overrides);
  command->add_option("--run-dir", arguments->run_dir, "Folder of the study; default: runs/NAME-study");
  add_json(*command, arguments->json,
           "Also write the trials to this file as JSON; -: to stdout, in place of the table");
  command->callback([arguments, &exit_code] { exit_code = tune::tune(*arguments); });
}

}  // namespace mirrortrain::cli
