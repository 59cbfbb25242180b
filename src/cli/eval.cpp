#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/run_weights.h"
#include "report/jsonl.h"
#include "train/run.h"
#include "train/run_cluster.h"
#include "train/run_folder.h"
#include "train/summary.h"
#include "train/trainer.h"

namespace mirrortrain::cli {
namespace {

namespace fs = std::filesystem;

struct EvalArguments {
  std::string run_or_config;
  std::vector<std::string> overrides;
  std::optional<std::string> checkpoint, json;
  std::string split = "test";
};

data::Split split_of(const std::string& name) {
  if (name == "test") return data::Split::kTest;
  return name == "validation" ? data::Split::kValidation : data::Split::kTrain;
}

RunWeights choose_weights(const EvalArguments& arguments, const std::optional<RunFolder>& folder,
                          const Configuration& configuration) {
  if (arguments.checkpoint) {
    const fs::path given = *arguments.checkpoint;
    if (!fs::is_directory(given)) return {given};
    // runs/a/checkpoints/step-000500/ ends in an empty name.
    return weights_of_checkpoint(given.has_filename() ? given : given.parent_path());
  }
  if (folder) return weights_of_run(*folder);
  if (configuration.model->initial_weights) return {configuration.model->initial_weights->text};
  throw UsageError(
      fmt::format("{}: there is no run '{}' in runs/ and no model.initial_weights; run fit first, or give "
                  "--checkpoint FILE",
                  arguments.run_or_config, configuration.name.text));
}

/// `cluster`: null on one machine.
int evaluate_on(const RunCluster* cluster, const EvalArguments& arguments, const CheckedConfiguration& checked,
                const std::optional<RunFolder>& folder) {
  const Configuration& values = checked.values();
  const data::Split split = split_of(arguments.split);
  const bool is_chief = cluster == nullptr || cluster->spec().is_chief();
  std::optional<data::Adapted> adapted;
  if (folder) adapted = read_adapted(*folder);
  const Run run = build_run(checked, {.trains = false, .evaluates = {split}, .adapted = adapted ? &*adapted : nullptr},
                            cluster != nullptr ? cluster->hardware() : this_hardware());
  run.strategy->variables();  // from every worker
  RunWeights weights;
  if (is_chief) {
    for (const std::string& note : run.strategy->topology().notes) spdlog::info(note);
    weights = choose_weights(arguments, folder, values);
    spdlog::info("weights: {}", weights.file.string());
    load_run_weights(weights, run.strategy->variables());
  }
  run.strategy->take_variables_from_chief();
  run.strategy->variables_changed();

  const StepSums sums = evaluate_all(*run.strategy, *run.split(split), values.data.global_batch_size);
  if (!is_chief) return 0;
  const report::EvaluationEvent event{arguments.split, weights.step, sums.examples,
                                      scores_of(sums, *checked.model)};
  fmt::print("{}: {} ({} examples)\n", arguments.split, scores_text(event.scores), event.examples);
  if (arguments.json) write_file(*arguments.json, report::to_json(event) + "\n");
  return 0;
}

int evaluate(const EvalArguments& arguments) {
  const bool is_run = fs::is_directory(arguments.run_or_config);
  std::optional<RunFolder> folder;
  if (is_run) {
    folder = RunFolder{arguments.run_or_config};
    if (!folder->exists()) {
      throw UsageError(fmt::format("{}: expected a run folder or a configuration file; config.yaml does not exist",
                                   arguments.run_or_config));
    }
  }
  const CheckedConfiguration checked =
      check_configuration(is_run ? folder->config().string() : arguments.run_or_config, arguments.overrides);
  const Configuration& values = checked.values();
  if (!checked.has_model()) {
    throw UsageError(fmt::format("{}: there is no model to evaluate, only state", arguments.run_or_config));
  }
  if (!is_run) folder = newest_run(values.name.text);

  if (checked.cluster && values.strategy.type == StrategyType::kParameterServer) {
    throw UsageError("eval of a run with parameter servers takes one process; start it without a cluster");
  }
  if (checked.cluster || !is_of_several_processes(values.strategy)) require_cluster(checked, process_environment());
  if (!checked.cluster) return evaluate_on(nullptr, arguments, checked, folder);
  const RunCluster cluster(checked, fmt::format("eval --split {}", arguments.split));
  struct Quiet {  // what a failure elsewhere aborts goes before the control plane does
    rpc::ControlPlane& control;
    ~Quiet() { control.on_failure({}); }
  } const quiet{cluster.control()};
  try {
    return evaluate_on(&cluster, arguments, checked, folder);
  } catch (const std::exception& error) {
    cluster.control().fail(error.what());
    throw;
  }
}

}  // namespace

void add_eval(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<EvalArguments>();
  CLI::App* command = app.add_subcommand("eval", "Evaluate a trained model on all replicas.");
  command->add_option("RUN_OR_CONFIG", arguments->run_or_config, "A run folder or a configuration file")->required();
  add_overrides(*command, arguments->overrides);
  command->add_option("--checkpoint", arguments->checkpoint,
                      "Weights to evaluate: a safetensors file, or a checkpoint's folder");
  command->add_option("--split", arguments->split, "Split to evaluate: test, validation or train")
      ->check(CLI::IsMember({"test", "validation", "train"}));
  add_json(*command, arguments->json, "Write the evaluation event to this file as JSON");
  command->callback([arguments, &exit_code] { exit_code = evaluate(*arguments); });
}

}  // namespace mirrortrain::cli
