#include "train/fit.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/stop_signals.h"
#include "train/runs/resume.h"
#include "train/sweep.h"

namespace mirrortrain::cli {
namespace {

/// A resumed run has its own configuration. `--resume CONFIG` means CONFIG with --resume.
void find_configuration(FitArguments& arguments) {
  if (!arguments.config.empty()) {
    if (arguments.resume || !RunFolder{arguments.config}.exists()) return;
    throw UsageError(fmt::format("{}: this is a run's folder, not a configuration; resume it with fit --resume {}",
                                 arguments.config, arguments.config));
  }
  if (!arguments.resume) throw CLI::RequiredError("CONFIG");
  if (std::filesystem::is_regular_file(*arguments.resume)) {
    arguments.config = std::move(*arguments.resume);
    arguments.resume = "";
  } else if (!arguments.resume->empty()) {
    arguments.config = require_resumable(*arguments.resume).config().string();
  } else {
    if (!arguments.run_dir) throw UsageError("fit --resume: name the run, as --resume RUN, or its configuration file");
    arguments.config = require_resumable(*arguments.run_dir).config().string();
  }
}

}  // namespace

void add_fit(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<FitArguments>();
  arguments->catch_stop_signals = catch_stop_signals;
  CLI::App* command = app.add_subcommand("fit", "Train a model, validate it after each epoch and test it at the end.");
  command->add_option("CONFIG", arguments->config,
                      "Path of the configuration file; default with --resume: the run's own");
  add_overrides(*command, arguments->overrides);
  command->add_option("--run-dir", arguments->run_dir, "Folder of the run; default: runs/NAME");
  command
      ->add_option_function<std::vector<std::string>>(
          "--resume",
          [arguments](const std::vector<std::string>& runs) {
            arguments->resumes_if_any = !runs.empty() && runs[0] == kResumeIfAny;
            if (!arguments->resumes_if_any) arguments->resume = runs.empty() ? "" : runs[0];
          },
          "Resume a run: RUN (its name or folder), the one in --run-dir, or the newest with the configuration's name; "
          "auto: if there is one that the configuration can resume, and start one otherwise")
      ->expected(0, 1)
      ->type_name("[RUN|auto]");
  command->add_flag("--dry-run", arguments->dry_run,
                    "Build everything, then stop before the first step; writes no files");
  CLI::Option* const profile =
      command->add_flag("--profile", arguments->profile,
                        "Print how long each replica spends in each layer, and each device in each action");
  command->add_flag("--by-time", arguments->profile_by_time, "With --profile: the slowest first")->needs(profile);
  add_json(*command, arguments->profile_json, "With --profile: also write it to this file as JSON; -: to stdout, alone")
      ->needs(profile);
  auto swept = std::make_shared<SweepArguments>();
  swept->catch_stop_signals = catch_stop_signals_quietly;
  CLI::Option* const sweeps =
      command
          ->add_option("--sweep", swept->sweeps,
                       "Train one run for each value: key.path=A,B,C; given several times, for each combination")
          ->allow_extra_args(false)
          ->type_name("KEY=A,B,C");
  command
      ->add_option("--side-by-side", swept->side_by_side,
                   "With --sweep: train so many runs at a time, each on its part of the GPUs or cores; default: 1")
      ->type_name("N")
      ->check(within(1L, 1024L))
      ->needs(sweeps);
  command->callback([arguments, swept, &exit_code] {
    if (arguments->resume && !arguments->resume->empty() && arguments->run_dir) {
      throw UsageError(fmt::format("--resume {} and --run-dir {} both name the run to resume; give one of them",
                                   *arguments->resume, *arguments->run_dir));
    }
    find_configuration(*arguments);
    if (!swept->sweeps.empty()) {
      exit_code = sweep(*arguments, *swept);
      return;
    }
    exit_code = fit(*arguments);
  });
}

}  // namespace mirrortrain::cli
