#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "config/scalar.h"
#include "model/metrics.h"
#include "report/console.h"
#include "train/runs/run_table.h"

namespace mirrortrain::cli {
namespace {

struct RunsArguments {
  std::string folder = "runs";
  std::optional<std::string> metric, json;
  std::string sort = "name";
};

const std::map<std::string, RunColumn>& columns() {
  static const std::map<std::string, RunColumn> names = {{"name", RunColumn::kName},
                                                         {"started", RunColumn::kStarted},
                                                         {"status", RunColumn::kStatus},
                                                         {"steps", RunColumn::kSteps},
                                                         {"last", RunColumn::kLast},
                                                         {"best", RunColumn::kBest},
                                                         {"examples/s", RunColumn::kExamplesPerSecond}};
  return names;
}

/// A metric that no run has is a typing error.
void require_metric(const std::string& metric, const std::vector<RunRow>& runs) {
  std::set<std::string> known;
  for (const RunRow& run : runs) known.insert(run.validated.begin(), run.validated.end());
  if (known.contains(metric) || runs.empty()) return;
  if (known.empty()) throw UsageError(fmt::format("--metric {}: none of these runs has validated", metric));
  const std::vector<std::string> names(known.begin(), known.end());
  throw UsageError(
      fmt::format("--metric {}: none of these runs has it; they have {}{}", metric, fmt::join(names, ", "),
                  config::suggestion(metric, config::with_aliases(names, config::names_of_choice<Metric>()))));
}

void print_runs(const RunsArguments& arguments) {
  if (!std::filesystem::is_directory(arguments.folder)) {
    throw UsageError(
        fmt::format("{}: there is no such folder of runs; `mirrortrain fit` makes runs/", arguments.folder));
  }
  std::vector<RunRow> runs = list_runs(arguments.folder, arguments.metric);
  if (arguments.metric) require_metric(*arguments.metric, runs);
  sort_runs(runs, columns().at(arguments.sort));
  if (arguments.json) write_json(*arguments.json, run_table_json(runs));
  if (arguments.json == "-") return;
  fmt::print("{}", run_table(runs, report::fitting_width(stdout)));
}

}  // namespace

void add_runs(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<RunsArguments>();
  CLI::App* const command = app.add_subcommand("runs", "List runs: how far they came, how well, and how they differ.");
  command->add_option("DIR", arguments->folder, "Folder of runs; default: runs");
  command
      ->add_option("--metric", arguments->metric,
                   "Metric of validation to show; default: the loss of several outputs together, else a run's first "
                   "metric, else loss")
      ->type_name("NAME");
  std::vector<std::string> names;
  for (const auto& [name, column] : columns()) names.push_back(name);
  command
      ->add_option("--sort", arguments->sort,
                   "Sort by name (the default), started, status, steps, last, best or examples/s")
      ->type_name("COLUMN")
      ->check(one_of(names));
  add_json(*command, arguments->json, "Also write the table to this file as JSON; -: to stdout, in its place");
  command->callback([arguments, &exit_code] {
    print_runs(*arguments);
    exit_code = 0;
  });
}

}  // namespace mirrortrain::cli
