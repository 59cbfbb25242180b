#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "cli/batch_progress.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/predicted_classes.h"
#include "cli/run_weights.h"
#include "report/json.h"
#include "report/jsonl.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/non_finite.h"
#include "train/checkpoint/run_folder.h"
#include "train/checkpoint/weights.h"
#include "train/inference/class_report.h"
#include "train/inference/predict.h"
#include "train/runs/summary.h"
#include "train/session/run.h"
#include "train/session/run_cluster.h"
#include "train/trainer.h"

namespace mirrortrain::cli {
namespace {

namespace fs = std::filesystem;

struct EvalArguments {
  std::string run_or_config;
  std::vector<std::string> overrides;
  std::optional<std::string> checkpoint, json;
  data::Split split = data::Split::kTest;
};

/// The weights that --checkpoint names: a safetensors file, a checkpoint's folder, or a checkpoint of the run.
RunWeights given_weights(const std::string& given, const std::optional<RunFolder>& folder) {
  if (fs::is_regular_file(given)) return {given};
  if (folder) {
    const fs::path own = folder->checkpoints() / given;
    if (fs::is_directory(own)) return weights_of_checkpoint(own);
  }
  if (folder && !fs::exists(given) && !fs::path(given).has_parent_path() && !find_run(given)) {
    throw UsageError(fmt::format("--checkpoint {}: {}", given, no_checkpoint_text(*folder, given)));
  }
  if (!fs::exists(given) || find_run(given)) {
    const NamedRun run = require_run(given, "--checkpoint");
    return run.checkpoint ? weights_of_checkpoint(*run.checkpoint) : weights_of_run(run.folder);
  }
  // runs/a/checkpoints/step-000500/ ends in an empty name.
  const fs::path checkpoint = given;
  return weights_of_checkpoint(checkpoint.has_filename() ? checkpoint : checkpoint.parent_path());
}

RunWeights choose_weights(const EvalArguments& arguments, const std::optional<NamedRun>& run,
                          const Configuration& configuration) {
  const std::optional<RunFolder> folder = run ? std::optional(run->folder) : std::nullopt;
  if (arguments.checkpoint) return given_weights(*arguments.checkpoint, folder);
  if (run) return run->checkpoint ? weights_of_checkpoint(*run->checkpoint) : weights_of_run(*folder);
  if (const auto& initial = configuration.model->initial_weights)
    return {.file = file_of(*initial), .initial = *initial};
  throw UsageError(
      fmt::format("{}: there is no run '{}' in runs/ and no model.initial_weights; run fit first, or give "
                  "--checkpoint FILE",
                  arguments.run_or_config, configuration.name.text));
}

/// The examples that a worker predicts, such that each has the same position in a replica's rows as on one machine.
data::Dataset part_of_worker(const data::Dataset& dataset, const Cluster& cluster) {
  const std::int64_t blocks = (dataset.rows() - 1) / kPredictedRows + 1;
  const auto first_of = [&](std::int64_t worker) {
    return std::min(blocks * worker / cluster.workers * kPredictedRows, dataset.rows());
  };
  return dataset.view(first_of(cluster.worker), first_of(cluster.worker + 1) - first_of(cluster.worker));
}

/// Additions to the event's JSON if the model predicts classes: each worker predicts its part. Of several outputs, each
/// has its figures below `outputs`. Called by every worker.
nlohmann::ordered_json classes_json(const CheckedConfiguration& checked, const Run& run, data::Split split) {
  const std::vector<OutputMeaning> meanings = output_meanings(checked, &run.adapted);
  std::map<std::size_t, ClassReport> reports;
  for (std::size_t i = 0; i < meanings.size(); ++i) {
    if (!meanings[i].tells_classes()) continue;
    if (const std::string why = why_not_counted(meanings[i]); !why.empty()) {
      spdlog::info("the figures of each class{} are left out: {}", checked.of_output(i), why);
    } else {
      reports.emplace(i, ClassReport(meanings[i]));
    }
  }
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (reports.empty()) return json;
  const data::Dataset part = part_of_worker(run.split(split)->dataset(), run.strategy->topology().cluster);
  const StoredTensors weights = copy_weights(run.strategy->variables());
  if (part.rows() > 0) {
    predict_classes(
        checked, meanings, part, run.adapted,
        [&](const VariableStore& variables) { load_weights(weights, "the weights", variables); },
        [&](std::size_t output, std::int64_t, std::int64_t label, std::span<const float> prediction) {
          if (const auto found = reports.find(output); found != reports.end()) found->second.add(label, prediction);
        });
  }
  for (auto& [number, report] : reports) {
    report.add_up(run.strategy->workers());
    if (meanings[number].name.empty()) return report.to_json();
    json["outputs"][meanings[number].name] = report.to_json();
  }
  return json;
}

/// With a progress line if `shows_progress`.
StepSums evaluate(const Run& run, data::Split split, std::int64_t batch_size, bool shows_progress) {
  const data::Feeder& examples = *run.split(split);
  BatchProgress progress(data::name_of(split), shows_progress);
  const std::int64_t batches = (examples.rows() - 1) / batch_size + 1;
  const auto show = [&](std::int64_t batch) {
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
    if (named) {
      warn_of_changed_data(named->folder.checkpoints(), arguments.split, examples,
                           data::is_drawn_from_train(values.data, arguments.split));
    }
  }
  if (arguments.json) require_not_read(*arguments.json);
  run.strategy->variables();  // from every worker
  RunWeights weights;
  if (is_chief) {
    for (const std::string& note : run.strategy->topology().notes) spdlog::info(note);
    weights = choose_weights(arguments, named, values);
    spdlog::info("weights: {}", weights.file.string());
    load_run_weights(weights, run.strategy->variables());
  }
  run.strategy->take_variables_from_chief();
  run.strategy->variables_changed();

  const StepSums sums = evaluate(run, arguments.split, values.data.global_batch_size, is_chief);
  const bool tells_classes = run.strategy->workers().agree(arguments.json.has_value()) != 0;  // the chief decides
  const nlohmann::ordered_json classes =
      tells_classes ? classes_json(checked, run, arguments.split) : nlohmann::ordered_json::object();
  if (!is_chief) return 0;
  const report::EvaluationEvent event{data::name_of(arguments.split), weights.step, sums.examples,
                                      scores_of(sums, *checked.model)};
  if (!std::isfinite(event.scores.loss)) {
    spdlog::warn("the loss is {}: {}", name_of_non_finite(event.scores.loss),
                 reason_of_nan(run.strategy->variables(), *checked.model));
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

int evaluate(const EvalArguments& arguments) {
  const ConfigurationOrRun given = configuration_or_run(arguments.run_or_config);
  std::optional<NamedRun> named = given.run;
  const CheckedConfiguration checked = check_configuration(given.file, arguments.overrides);
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
  const RunCluster cluster(checked, fmt::format("eval --split {}", data::name_of(arguments.split)));
  struct Quiet {  // the strategy, which a failure elsewhere aborts, is destroyed before the control plane
    rpc::ControlPlane& control;
    ~Quiet() { control.on_failure({}); }
  } const quiet{cluster.control()};
  try {
    return evaluate_on(&cluster, arguments, checked, named);
  } catch (const std::exception& error) {
    cluster.end_with(error);
  }
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
  add_split(*command, arguments->split, "Split to evaluate: test, validation or train");
  add_json(
      *command, arguments->json,
      "Write the evaluation event to this file as JSON, with precision, recall and F1 of each class and the confusion "
      "matrix where the model predicts classes; -: to stdout, in place of the line of text");
  command->callback([arguments, &exit_code] { exit_code = evaluate(*arguments); });
}

}  // namespace mirrortrain::cli
