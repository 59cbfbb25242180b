#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/evaluation.h"
#include "cli/options.h"
#include "data/loading/new_data.h"
#include "data/sources/abilities.h"
#include "report/json.h"
#include "report/mean_scores.h"
#include "train/checkpoint/named_run.h"
#include "train/checkpoint/run_folder.h"
#include "train/runs/summary.h"
#include "train/session/check_configuration.h"
#include "train/session/run_cluster.h"

namespace mirrortrain::cli {
namespace {

/// As evaluation_on; prints and writes it.
int evaluate_on(const RunCluster* cluster, const EvalArguments& arguments, const CheckedConfiguration& checked,
                const std::optional<NamedRun>& named) {
  const std::optional<Evaluation> evaluation = evaluation_on(cluster, arguments, checked, named);
  if (!evaluation) return 0;
  if (arguments.json) write_json(*arguments.json, report::json_line(json_of(*evaluation)));
  if (arguments.json != "-") fmt::print("{}\n", text_of(evaluation->event));
  return 0;
}

/// The files that --data names take the place of the test data.
void set_test_data(const std::vector<std::string>& named, CheckedConfiguration& checked) {
  std::vector<std::string> remarks;
  const std::vector<std::string> files = data::new_files(named, remarks);
  for (const std::string& remark : remarks) spdlog::warn("{}", remark);
  if (files.front() == "-") throw UsageError("--data -: expected a file, as it is read several times; save it first");
  data::DataOptions& options = checked.read.values.data;
  data::Source source = data::new_source(files, options);
  if (data::has_files_of_one_array(source)) {
    throw UsageError(
        fmt::format("--data {}: its labels are in another file; name both, as --set data.test.features=FILE --set "
                    "data.test.labels=FILE",
                    files.front()));
  }
  const auto names = std::visit([](const auto& held) { return data::field_names(held); }, source);
  if (names.outputs.empty()) {
    throw UsageError(fmt::format(
        "--data {}: the run was trained on data of another format, which do not say what the labels of such "
        "a file are; name it as data.test, as --set 'data.test={{format: FORMAT, file: FILE, ..., labels: "
        "NAME}}', or give data of the run's format",
        files.front()));
  }
  options.test = {std::move(source), {}, ""};
}

/// A mean of some folds would be taken for that of the trial. `checked`: the configuration of the first of them.
void require_all_folds(const CheckedConfiguration& checked, const EvalArguments& arguments,
                       const std::vector<NamedRun>& folds) {
  const auto* const part = checked.values().data.part_of_train();
  const std::int64_t count = part != nullptr ? part->folds.value_or(0) : 0;
  std::vector<std::string> missing;
  for (std::int64_t fold = 1; fold <= count; ++fold) {
    const std::string name = fmt::format("fold-{}", fold);
    const auto found = std::ranges::find(folds, name, [](const NamedRun& run) { return name_of(run.folder); });
    const bool is_there =
        found != folds.end() && (arguments.checkpoint || std::filesystem::exists(found->folder.model()));
    if (!is_there) missing.push_back(name);
  }
  if (missing.empty()) return;
  throw UsageError(
      fmt::format("{}: the trial has a run for each of {} folds, and {} {} not trained yet, or failed, so that there "
                  "is no mean; `mirrortrain tune` continues its study, and a single fold is evaluated as {}",
                  arguments.run_or_config, count, fmt::join(missing, ", "), missing.size() == 1 ? "is" : "are",
                  folds.front().folder.path.string()));
}

/// The run of each fold of a trial, and their mean.
int evaluate_folds(const EvalArguments& arguments, const std::vector<NamedRun>& folds) {
  std::vector<report::Scores> all;
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  for (const NamedRun& fold : folds) {
    EvalArguments own = arguments;
    own.run_or_config = fold.folder.path.string();
    CheckedConfiguration checked = check_configuration(fold.folder.config().string(), arguments.overrides);
    if (&fold == &folds.front()) require_all_folds(checked, arguments, folds);
    if (!arguments.data.empty()) set_test_data(arguments.data, checked);
    if (checked.cluster) throw UsageError("eval of a trial's folds takes one process; start it without a cluster");
    const Evaluation evaluation = evaluation_on(nullptr, own, checked, fold).value();
    if (arguments.json != "-") fmt::print("{}: {}\n", name_of(fold.folder), text_of(evaluation.event));
    all.push_back(evaluation.event.scores);
    events.push_back(json_of(evaluation));
  }
  const report::Scores mean = report::mean_of(all), deviation = report::deviation_of(all);
  const auto json_of_scores = [](const report::Scores& scores) {
    nlohmann::ordered_json json = {{"loss", scores.loss}, {"metrics", nlohmann::ordered_json::object()}};
    for (const auto& [name, value] : scores.metrics) json["metrics"][name] = value;
    return json;
  };
  if (arguments.json) {
    const nlohmann::ordered_json json = {{"event", "evaluation_of_folds"},
                                         {"split", data::name_of(arguments.split)},
                                         {"mean", json_of_scores(mean)},
                                         {"deviation", json_of_scores(deviation)},
                                         {"folds", std::move(events)}};
    write_json(*arguments.json, report::json_line(json));
  }
  if (arguments.json != "-") {
    fmt::print("mean of {} folds: {}\nstandard deviation: {}\n", folds.size(), scores_text(mean),
               scores_text(deviation));
  }
  return 0;
}

int evaluate(const EvalArguments& arguments) {
  const std::vector<NamedRun> folds = runs_of_folds(arguments.run_or_config);
  if (!folds.empty()) return evaluate_folds(arguments, folds);
  const ConfigurationOrRun given = configuration_or_run(arguments.run_or_config);
  std::optional<NamedRun> named = given.run;
  CheckedConfiguration checked = check_configuration(given.file, arguments.overrides);
  if (!arguments.data.empty()) set_test_data(arguments.data, checked);
  const Configuration& values = checked.values();
  if (!checked.has_model()) {
    throw UsageError(fmt::format("{}: there is no model to evaluate, only state", arguments.run_or_config));
  }
  if (!named) {
    if (const auto newest = newest_run(values.name.text)) named = NamedRun{*newest};
  }

  const strategies::Declaration& type = values.strategy.declaration();
  if (checked.cluster && type.has_servers) {
    throw UsageError("eval of a run with parameter servers takes one process; start it without a cluster");
  }
  if (checked.cluster || !type.on_cluster) require_cluster(checked, process_environment());
  if (!checked.cluster) return evaluate_on(nullptr, arguments, checked, named);
  return among_tasks(checked, fmt::format("eval --split {}", data::name_of(arguments.split)),
                     [&](const RunCluster& cluster) { return evaluate_on(&cluster, arguments, checked, named); });
}

}  // namespace

void add_eval(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* command = app.add_subcommand("eval", "Evaluate a trained model on all replicas.");
  command
      ->add_option("RUN_OR_CONFIG", arguments->run_or_config,
                   "A run's name or folder, a checkpoint, a trial with folds, or a configuration file")
      ->required();
  add_overrides(*command, arguments->overrides);
  command->add_option("--checkpoint", arguments->checkpoint,
                      "Weights to evaluate: a safetensors file, or a checkpoint's folder or name");
  CLI::Option* const data =
      command
          ->add_option(
              "--data", arguments->data,
              "Other data with labels, in the place of the test data: .csv, .parquet, .npz, .h5 or .tar files, a "
              "folder with a folder of pictures for each class, or files of the format of the run's test data, "
              "also by a glob")
          ->type_name("FILE")
          ->expected(1, CLI::detail::expected_max_vector_size);
  add_split(*command, arguments->split, "Split to evaluate: test (the default), validation or train")->excludes(data);
  add_json(
      *command, arguments->json,
      "Write the evaluation event to this file as JSON, with precision, recall and F1 of each class and the confusion "
      "matrix where the model predicts classes; -: to stdout, in place of the line of text");
  command->callback([arguments, &exit_code] { exit_code = evaluate(*arguments); });
}

}  // namespace mirrortrain::cli
