#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/stop_signals.h"
#include "cluster/discover.h"
#include "data/files/stream_input.h"
#include "data/loading/new_data.h"
#include "report/console.h"
#include "train/inference/examples_to_predict.h"
#include "train/inference/extra_columns.h"
#include "train/inference/prediction.h"
#include "train/inference/write_predictions.h"
#include "train/runs/run_weights.h"
#include "train/runs/summary.h"
#include "train/session/run_cluster.h"

namespace mirrortrain::cli {
namespace {

namespace fs = std::filesystem;

struct PredictArguments {
  std::string run;
  std::vector<std::string> overrides;
  std::vector<std::string> data;
  std::optional<std::string> output;
  data::Split split = data::Split::kTest;
  bool probabilities = false, labels = false;
  std::vector<std::string> keep;
  std::optional<double> threshold;
};

PredictionFormat format_of(const std::optional<std::string>& file) {
  if (!file) return PredictionFormat::kCsv;
  const std::map<std::string, PredictionFormat> endings = {{".csv", PredictionFormat::kCsv},
                                                           {".npy", PredictionFormat::kNpy},
                                                           {".npz", PredictionFormat::kNpz},
                                                           {".jsonl", PredictionFormat::kJsonl}};
  const auto found = endings.find(fs::path(*file).extension().string());
  if (found != endings.end()) return found->second;
  throw UsageError(fmt::format("--output {}: expected a file that ends in .csv, .jsonl, .npy or .npz", *file));
}

bool is_pipe(const std::string& file) {
  std::error_code error;
  return file == "-" || !(fs::is_regular_file(file, error) || fs::is_directory(file, error));
}

/// Whether the tasks of a cluster share the work, which the environment or --set names: a run's own configuration names
/// the one that it was trained on. Throws UsageError where several processes would each predict everything.
bool is_shared(const PredictArguments& arguments, const CheckedConfiguration& checked) {
  const strategies::Declaration& type = checked.values().strategy.declaration();
  const std::string_view in_sync = declaration_of(kWorkersInSync).name;
  const auto processes = several_processes(process_environment());
  if (processes && type.has_servers) {
    throw UsageError(fmt::format(
        "predict of a run with parameter servers takes one process, but {}; start one, or share the work with --set "
        "strategy.type={}",
        *processes, in_sync));
  }
  if (processes && !type.on_cluster) {
    throw UsageError(fmt::format(
        "predict: {}, and the run's strategy.type is {}, with which each of them would predict everything; start one, "
        "or share the work with --set strategy.type={}",
        *processes, type.name, in_sync));
  }
  const bool is_given = processes || std::ranges::any_of(arguments.overrides, [](const std::string& one) {
                          return one.starts_with("strategy.cluster");
                        });
  if (!is_given || !checked.cluster || type.has_servers || checked.cluster->trainers().size() < 2) return false;
  if (std::ranges::any_of(arguments.data, is_pipe)) {
    throw UsageError(
        "--data: several tasks read the data, which a pipe has only once; save them to a file that each of them sees, "
        "or start one process");
  }
  return true;
}

int predict_on(const RunCluster* cluster, const PredictArguments& arguments, PredictionFormat format,
               const TrainedRun& trained) {
  const bool is_chief = cluster == nullptr || cluster->spec().is_chief();
  if (!is_chief) spdlog::set_level(spdlog::level::err);  // all read the same, and the chief warns
  std::vector<std::string> remarks;
  ExamplesToPredict wanted;
  wanted.split = arguments.split;
  wanted.cluster = cluster;
  wanted.features_of_training = read_feature_sizes(trained.named.folder.summary());
  wanted.columns = {arguments.keep, arguments.labels, format == PredictionFormat::kJsonl};
  if (!arguments.data.empty()) wanted.files = data::new_files(arguments.data, remarks);
  for (const std::string& remark : remarks) spdlog::warn("{}", remark);
  const CheckedConfiguration& checked = trained.checked;
  const data::Adapted* const adapted = trained.adapted ? &*trained.adapted : nullptr;
  // A pipe may have nothing for long, and keep what is there already; others are read before there is a file to remove.
  std::optional<std::reference_wrapper<const std::atomic<int>>> signal;
  wanted.stops = [&] { return signal && signal->get() != 0; };
  if (std::ranges::any_of(wanted.files, is_pipe)) signal = catch_stop_signals_quietly();
  const auto stopped = [&](int number) {
    spdlog::warn("stopped by a signal{}",
                 arguments.output ? fmt::format("; {} is not written", *arguments.output) : "");
    return 128 + (number != 0 ? number : signal->get().load());
  };
  std::unique_ptr<ExampleBlocks> blocks;
  std::optional<Run> run;
  try {
    blocks = open_examples(wanted, checked, adapted, trained.named.folder.checkpoints());
    run = run_on_examples(wanted, checked, blocks->first(), adapted != nullptr ? *adapted : data::Adapted{});
  } catch (const data::ReadingStopped&) {
    return stopped(0);
  }
  if (cluster != nullptr) cluster->require_same("number of examples", std::to_string(blocks->first().rows()));
  load_trained_weights(trained.named, *run->strategy);

  std::vector<OutputMeaning> meanings = output_meanings(checked, adapted);
  if (arguments.threshold) {
    if (std::ranges::none_of(meanings, [](const auto& one) { return one.kind == OutputMeaning::Kind::kYesOrNo; })) {
      throw UsageError("--threshold is for outputs of two classes, of one number with a binary crossentropy");
    }
    for (OutputMeaning& meaning : meanings) meaning.threshold = *arguments.threshold;
  }
  const ExtraColumns& extra = blocks->extra_columns();
  if (arguments.labels && extra.names.size() == arguments.keep.size()) {
    spdlog::warn("--labels: {} no labels, so none are written",
                 arguments.data.empty() ? "the examples have" : fmt::format("{} has", arguments.data.front()));
  }
  if (!arguments.output && is_chief) require_not_read("/dev/stdout");
  PredictionOutput output;
  output.extra_columns = extra.names;
  output.kept_columns = arguments.keep.size();
  output.of_files = pictures_of(blocks->first()) != nullptr;
  output.extra_numbers = extra.are_numbers;
  output.is_kept_json = extra.is_kept_json;
  if (arguments.output) output.file = *arguments.output;
  output.format = format;
  output.probabilities = arguments.probabilities;
  signal = catch_stop_signals_quietly();  // from here on there is a file to remove
  // Not displayed among the predictions themselves.
  const bool shows_progress = is_chief && !is_quiet() && (arguments.output || !report::is_terminal(stdout));
  int stop_signal = 0;
  const auto stops = [&](std::int64_t batch) {
    stop_signal = cluster != nullptr ? cluster->control().agree_to_stop(batch, signal->get()) : signal->get().load();
    if (cluster != nullptr) cluster->control().begin_step(batch + 1);
    return stop_signal != 0;
  };
  const std::unique_ptr<PredictionWriter> writer =
      is_chief ? make_prediction_writer(output, meanings) : std::make_unique<NoPredictions>();
  const auto count =
      write_predictions(*writer, is_of_arrays(format), checked, *run, meanings, *blocks, stops, shows_progress);
  if (!count) return stopped(stop_signal);
  spdlog::info("{} prediction{}", *count, *count == 1 ? "" : "s");
  return 0;
}

int predict(const PredictArguments& arguments) {
  const PredictionFormat format = format_of(arguments.output);
  if (is_of_arrays(format) && (!arguments.keep.empty() || arguments.labels)) {
    throw UsageError(
        fmt::format("--output {}: --keep and --labels write columns beside the predictions, which arrays do "
                    "not have; write .csv or .jsonl",
                    *arguments.output));
  }
  const TrainedRun trained = open_trained_run(arguments.run, arguments.overrides, process_environment());
  const CheckedConfiguration& checked = trained.checked;
  if (!is_shared(arguments, checked)) return predict_on(nullptr, arguments, format, trained);
  return among_tasks(checked, fmt::format("predict --split {}", data::name_of(arguments.split)),
                     [&](const RunCluster& cluster) {
                       return cluster.trains_in_step() ? predict_on(&cluster, arguments, format, trained) : 0;
                     });
}

}  // namespace

void add_predict(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<PredictArguments>();
  CLI::App* command = app.add_subcommand("predict", "Run a trained model on new data.");
  command->add_option("RUN", arguments->run, "A run's name or folder, or a checkpoint's")->required();
  add_overrides(*command, arguments->overrides);
  CLI::Option* const data =
      command
          ->add_option("--data", arguments->data,
                       "New data, with labels or without: .csv, .parquet, .jsonl, .npy, .npz, .h5 or .tar files, "
                       "pictures or a folder "
                       "of them, or files of the format of the run's test data, also by a glob; -: csv or jsonl on "
                       "stdin")
          ->type_name("FILE")
          ->expected(1, CLI::detail::expected_max_vector_size);
  add_split(*command, arguments->split, "The run's own data instead: test, validation or train")->excludes(data);
  add_output_file(
      *command, "-o,--output", arguments->output,
      "File to write: .csv, .jsonl, .npy (the raw outputs) or .npz (an array for each output of the model); "
      "without it csv goes to stdout");
  command
      ->add_option("--keep", arguments->keep,
                   "Columns of the new table that are written with the predictions: id,age; of pictures: file")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("COLUMNS");
  command
      ->add_option(
          "--threshold", arguments->threshold,
          "Of every output of two classes that is one number: the probability above which it is class 1; default: 0.5")
      ->type_name("P")
      ->check([](const std::string& text) -> std::string {
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool fits = error == std::errc() && end == text.data() + text.size() && value > 0 && value < 1;
        return fits ? "" : fmt::format("expected a probability between 0 and 1, found '{}'", text);
      });
  command->add_flag("--labels", arguments->labels, "Write the true labels too, where the data have any");
  command->add_flag("--probabilities", arguments->probabilities,
                    "Write the probability of each class or label too, or the outputs where there are none");
  command->callback([arguments, &exit_code] { exit_code = predict(*arguments); });
}

}  // namespace mirrortrain::cli
