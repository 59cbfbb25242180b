#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "data/loading/new_data.h"
#include "report/batch_progress.h"
#include "report/json.h"
#include "report/jsonl.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/named_run.h"
#include "train/checkpoint/non_finite.h"
#include "train/checkpoint/run_folder.h"
#include "train/inference/evaluated_classes.h"
#include "train/runs/run_weights.h"
#include "train/runs/summary.h"
#include "train/session/run.h"
#include "train/session/run_cluster.h"
#include "train/trainer.h"

namespace mirrortrain::cli {
namespace {

struct EvalArguments {
  std::string run_or_config;
  std::vector<std::string> overrides;
  std::vector<std::string> data;  ///< files in the place of the run's data
  std::optional<std::string> checkpoint, json;
  data::Split split = data::Split::kTest;
};

/// With a progress line if `shows_progress`.
StepSums evaluate(const Run& run, data::Split split, std::int64_t batch_size, bool shows_progress) {
  const data::Feeder& examples = *run.split(split);
  report::BatchProgress progress(data::name_of(split), shows_progress && !is_quiet());
  const auto show = [&](std::int64_t batch, std::int64_t batches) {
    progress.show(batch, batches);
    return true;
  };
  return evaluate_while(show, *run.strategy, examples, batch_size).value();
}

/// `cluster`: null on one machine.
int evaluate_on(const RunCluster* cluster, const EvalArguments& arguments, const CheckedConfiguration& checked,
                const std::optional<NamedRun>& named) {
  const Configuration& values = checked.values();
  const bool is_chief = cluster == nullptr || cluster->spec().is_chief();
  std::optional<data::Adapted> adapted;
  if (named) adapted = read_adapted(named->folder);
  const Run run =
      build_run(checked, {.trains = false, .evaluates = {arguments.split}, .adapted = adapted ? &*adapted : nullptr},
                cluster != nullptr ? cluster->hardware() : this_hardware());
  if (is_chief) {
    report_left_out(run, LeftOutList::kFirst);
    const data::Dataset& examples = run.split(arguments.split)->dataset();
    warn_of_remarks(examples);
    if (named && arguments.data.empty()) {
      warn_of_changed_data(named->folder.checkpoints(), arguments.split, examples,
                           data::is_drawn_from_train(values.data, arguments.split));
    }
  }
  if (arguments.json) require_not_read(*arguments.json);
  RunWeights weights;
  if (is_chief) {
    for (const std::string& note : run.strategy->topology().notes) spdlog::info(note);
    weights = weights_to_evaluate(arguments.run_or_config, arguments.checkpoint, named, values);
    spdlog::info("weights: {}", weights.file.string());
  }
  load_run_weights(weights, *run.strategy);

  const StepSums sums = evaluate(run, arguments.split, values.data.global_batch_size, is_chief);
  const bool tells_classes = run.strategy->workers().agree(arguments.json.has_value()) != 0;  // the chief decides
  const nlohmann::ordered_json classes =
      tells_classes ? evaluated_classes(checked, run, arguments.split) : nlohmann::ordered_json::object();
  const report::EvaluationEvent event{data::name_of(arguments.split), weights.step, sums.examples,
                                      scores_of(sums, *checked.model)};
  const bool is_finite = std::isfinite(event.scores.loss);
  const std::string reason = is_finite ? "" : reason_of_nan(*run.strategy, *checked.model);  // from every worker
  if (!is_chief) return 0;
  if (!is_finite) {
    spdlog::warn("the loss is {}{}: {}", name_of_non_finite(event.scores.loss),
                 outputs_not_finite(sums, *checked.model), reason);
  }
  if (arguments.json) {
    auto json = nlohmann::ordered_json::parse(report::to_json(event));
    json.update(classes);
    write_json(*arguments.json, report::json_line(json));
  }
  if (arguments.json != "-") {
    fmt::print("{}: {} ({} examples)\n", event.split, scores_text(event.scores), event.examples);
  }
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
  if (std::holds_alternative<data::Npy>(source) || std::holds_alternative<data::Idx>(source)) {
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

int evaluate(const EvalArguments& arguments) {
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

  if (checked.cluster && is_served(values.strategy.type)) {
    throw UsageError("eval of a run with parameter servers takes one process; start it without a cluster");
  }
  if (checked.cluster || !is_of_several_processes(values.strategy.type))
    require_cluster(checked, process_environment());
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
                   "A run's name or folder, a checkpoint, or a configuration file")
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
