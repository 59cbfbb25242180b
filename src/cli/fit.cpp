#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/stop_signals.h"
#include "train/elastic_run.h"

namespace mirrortrain::cli {

void add_fit(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<FitArguments>();
  arguments->catch_stop_signals = catch_stop_signals;
  CLI::App* command = app.add_subcommand("fit", "Train a model, validate it after each epoch and test it at the end.");
  add_configuration(*command, arguments->config, arguments->overrides);
  command->add_option("--run-dir", arguments->run_dir, "Folder of the run; default: runs/NAME");
  command
      ->add_option_function<std::vector<std::string>>(
          "--resume",
          [arguments](const std::vector<std::string>& runs) { arguments->resume = runs.empty() ? "" : runs[0]; },
          "Resume a run: RUN, the one in --run-dir, or the newest with the configuration's name")
      ->expected(0, 1)
      ->type_name("[RUN]");
  command->add_flag("--dry-run", arguments->dry_run,
                    "Build everything, then stop before the first step; writes no files");
  command->add_flag("--profile", arguments->profile, "Print the time that each replica spends in each op");
  command->callback([arguments, &exit_code] {
    if (arguments->resume && !arguments->resume->empty() && arguments->run_dir) {
      throw UsageError(fmt::format("--resume {} and --run-dir {} both name the run to resume; give one of them",
                                   *arguments->resume, *arguments->run_dir));
    }
    exit_code = fit(*arguments);
  });
}

}  // namespace mirrortrain::cli
