#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "model/metrics/lower_is_better.h"
#include "report/page/page.h"
#include "train/checkpoint/named_run.h"
#include "train/runs/predicted_page.h"
#include "train/runs/run_differences.h"

namespace mirrortrain::cli {
namespace {

struct ReportArguments {
  std::vector<std::string> runs, overrides;
  std::optional<std::string> output;
  bool skips_predictions = false;
};

/// The run's name, with the checkpoint if RUN names one.
std::string title_of(const NamedRun& run) {
  const std::string name = name_of(run.folder);
  return run.checkpoint ? fmt::format("{} ({})", name, run.checkpoint->filename().string()) : name;
}

/// Uses their folders if names are not unique.
std::vector<std::string> titles_of(const std::vector<NamedRun>& runs) {
  std::vector<std::string> titles;
  for (const NamedRun& run : runs) titles.push_back(title_of(run));
  std::vector<std::string> unique = titles;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (std::ranges::count(titles, titles[i]) > 1) {
      unique[i] = runs[i].checkpoint ? runs[i].checkpoint->string() : runs[i].folder.path.string();
    }
  }
  return unique;
}

std::string default_output(const std::vector<NamedRun>& runs) {
  return runs.size() == 1 ? runs[0].folder.report().string() : "report.html";
}

/// A page with another format's extension would be opened by the wrong program.
void require_html(const std::string& file) {
  const std::string ending = std::filesystem::path(file).extension().string();
  if (ending.empty() || ending == ".html" || ending == ".htm") return;
  throw UsageError(fmt::format("--output {}: expected a file that ends in .html, as the page is HTML", file));
}

void write_report(const ReportArguments& arguments) {
  if (arguments.output) require_html(*arguments.output);
  std::vector<NamedRun> runs;
  for (const std::string& run : arguments.runs) {
    for (NamedRun& one : require_runs(run, run)) {
      const auto is_same = [&](const NamedRun& other) {
        return other.folder.path == one.folder.path && other.checkpoint == one.checkpoint;
      };
      if (std::ranges::any_of(runs, is_same)) {
        throw UsageError(fmt::format(
            "{}: {} is listed twice; a name means the newest run of that name: give the folders of older ones", run,
            one.folder.path.string()));
      }
      runs.push_back(std::move(one));
    }
  }
  std::vector<report::RunPage> pages;
  std::vector<RunFolder> folders;
  const std::vector<std::string> titles = titles_of(runs);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    pages.push_back(predicted_page(runs[i], titles[i], {arguments.overrides, !arguments.skips_predictions}));
    folders.push_back(runs[i].folder);
  }
  const std::string html = report::html_page(pages, {configuration_differences(folders), lower_is_better});
  if (arguments.output == "-") {
    fmt::print("{}", html);
    return;
  }
  const std::string file = arguments.output ? *arguments.output : default_output(runs);
  if (!arguments.output && std::filesystem::exists(file) && !std::filesystem::is_regular_file(file)) {
    throw UsageError(fmt::format("{}: expected a file, found a folder, a pipe or a device; remove it", file));
  }
  if (!arguments.output && !report::may_replace_by_page(file)) {
    throw UsageError(fmt::format("{}: this is no page of mirrortrain's; keep it, and name another file with -o", file));
  }
  write_result(file, html);
  fmt::print("{}\n", file);
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ReportArguments>();
  CLI::App* const command =
      app.add_subcommand("report", "Write a page about a run, or several side by side: curves, figures, mistakes.");
  command->add_option("RUN", arguments->runs, "Runs' names or folders, checkpoints, or a sweep's name")->required();
  add_output_file(*command, "-o,--output", arguments->output,
                  "HTML file to write; -: stdout; default: report.html in the run's folder, of several runs in the "
                  "working directory");
  add_overrides(*command, arguments->overrides,
                "Override a value for the predictions: key.path=value, with a YAML value; may be given several times");
  command->add_flag("--no-predictions", arguments->skips_predictions,
                    "Leave out what the model must compute again: the classes and the worst mistakes");
  command->callback([arguments, &exit_code] {
    write_report(*arguments);
    exit_code = 0;
  });
}

}  // namespace mirrortrain::cli
