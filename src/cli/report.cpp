#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/predicted_classes.h"
#include "data/feeding/example_picture.h"
#include "model/metrics/direction.h"
#include "report/page/page.h"
#include "train/checkpoint/checkpoint.h"
#include "train/inference/class_report.h"
#include "train/inference/worst_mistakes.h"
#include "train/runs/run_differences.h"
#include "train/runs/run_report.h"
#include "train/runs/summary.h"
#include "train/session/run.h"

namespace mirrortrain::cli {
namespace {

struct ReportArguments {
  std::vector<std::string> runs, overrides;
  std::optional<std::string> output;
  bool skips_predictions = false;
};

/// The test data, else the validation data. Throws Error if they cannot be read, UsageError if there are none.
std::pair<data::Split, data::LoadedSplit> read_split(const CheckedConfiguration& checked,
                                                     const data::Adapted* adapted) {
  const Configuration& values = checked.values();
  for (const data::Split split : {data::Split::kTest, data::Split::kValidation}) {
    if (auto loaded = data::load(values.data, values.seed, checked.wanted_examples(), split, adapted))
      return {split, std::move(*loaded)};
  }
  throw UsageError(data::missing_text(values.data, data::Split::kTest));
}

/// The first input of pictures; nothing if there is none.
std::optional<std::size_t> picture_input(const CheckedConfiguration& checked, const data::Dataset& dataset) {
  for (std::size_t i = 0; i < dataset.inputs().size(); ++i) {
    if (data::holds_pictures(dataset, i, checked.examples.inputs[i].shape)) return i;
  }
  return std::nullopt;
}

/// Adds the parts that need the data and the weights: the classes of each output that predicts some, and the
/// misclassified pictures.
void add_predictions(const NamedRun& run, const CheckedConfiguration& checked, report::RunPage& page) {
  const std::optional<data::Adapted> kept = read_adapted(run.folder);
  const std::vector<OutputMeaning> meanings = output_meanings(checked, kept ? &*kept : nullptr);
  struct OfOutput {
    ClassReport classes;
    WorstMistakes worst;
  };
  std::map<std::size_t, OfOutput> outputs;
  for (std::size_t i = 0; i < meanings.size(); ++i) {
    if (!meanings[i].tells_classes()) continue;
    if (const std::string why = why_not_counted(meanings[i]); !why.empty()) {
      page.why_no_classes = fmt::format("Left out: {}.", why);
    } else {
      outputs.emplace(i, OfOutput{ClassReport(meanings[i]), WorstMistakes(meanings[i])});
    }
  }
  if (outputs.empty()) return;
  const auto [split, loaded] = read_split(checked, kept ? &*kept : nullptr);
  warn_of_changed_data(run.folder.checkpoints(), split, loaded.dataset,
                       data::is_drawn_from_train(checked.values().data, split));
  const RunWeights weights = run.checkpoint ? weights_of_checkpoint(*run.checkpoint) : weights_of_run(run.folder);
  spdlog::info("{}: predicting the {} {} examples with {}", page.name, loaded.dataset.rows(), data::name_of(split),
               weights.file.string());
  predict_classes(
      checked, meanings, loaded.dataset, kept ? *kept : loaded.adapted,
      [&](const VariableStore& variables) { load_run_weights(weights, variables); },
      [&](std::size_t output, std::int64_t row, std::int64_t label, std::span<const float> prediction) {
        const auto found = outputs.find(output);
        if (found == outputs.end()) return;
        found->second.classes.add(label, prediction);
        if (!meanings[output].is_by_step()) found->second.worst.add(row, label, prediction);
      });
  page.classes.clear();
  for (const auto& [number, output] : outputs) {
    auto figures = report::class_figures(output.classes.to_json());
    figures->split = data::name_of(split);
    figures->step = weights.step;
    figures->output = meanings[number].name;
    page.classes.push_back(*std::move(figures));
  }
  const auto pictures = picture_input(checked, loaded.dataset);
  if (!pictures) {
    page.why_no_mistakes = "Left out: the examples are no pictures.";
    return;
  }
  for (const auto& [number, output] : outputs) {
    for (report::Mistake& mistake : output.worst.pictures(loaded.dataset, *pictures)) {
      if (!meanings[number].name.empty()) mistake.truth = fmt::format("{}: {}", meanings[number].name, mistake.truth);
      page.mistakes.push_back(std::move(mistake));
    }
  }
  const bool are_by_step =
      std::ranges::all_of(outputs, [&](const auto& output) { return meanings[output.first].is_by_step(); });
  if (are_by_step) {
    page.why_no_mistakes = "Left out: each picture has a class for each of its pixels.";
  } else if (page.mistakes.empty()) {
    page.why_no_mistakes = fmt::format("No {} picture is taken for another class.", data::name_of(split));
  }
}

/// Errors become notes on the page: a run that is still training, or whose data no longer exist, still has curves.
report::RunPage page_of(const NamedRun& run, const std::string& name, const ReportArguments& arguments) {
  report::RunPage page = run_page(run.folder, name);
  const auto leave_out = [&page](const std::string& why) {
    if (page.classes.empty()) page.why_no_classes = "Left out: " + why;  // an eval.json may have them
    page.why_no_mistakes = "Left out: " + why;
  };
  std::optional<CheckedConfiguration> checked;
  try {
    checked = check_configuration(run.folder.config().string(), arguments.overrides,
                                  [](const std::string&) { return std::nullopt; });
  } catch (const Error& error) {
    page.why_no_layers = fmt::format("Left out: {}", error.what());
    leave_out(error.what());
    return page;
  }
  add_layers(*checked, page);
  if (!checked->has_model()) return page;
  if (arguments.skips_predictions) return page;
  try {
    add_predictions(run, *checked, page);
  } catch (const Error& error) {
    spdlog::warn("{}: no classes and no pictures: {}", name, error.what());
    leave_out(error.what());
  }
  return page;
}

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
    pages.push_back(page_of(runs[i], titles[i], arguments));
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
