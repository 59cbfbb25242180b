#include "train/inference/predict.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "cli/batch_progress.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/run_weights.h"
#include "cli/stop_signals.h"
#include "data/files/file_list.h"
#include "data/loading/new_data.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/non_finite.h"
#include "train/inference/extra_columns.h"
#include "train/inference/prediction.h"
#include "train/session/check_data.h"
#include "train/session/scale_warnings.h"

namespace mirrortrain::cli {
namespace {

namespace fs = std::filesystem;

struct PredictArguments {
  std::string run;
  std::vector<std::string> overrides;
  std::optional<std::string> data, output;
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

data::Dataset read_examples(const PredictArguments& arguments, const CheckedConfiguration& checked,
                            const data::Adapted* adapted) {
  const Configuration& values = checked.values();
  if (arguments.data) {
    if (!data::has_wildcards(*arguments.data) && !fs::exists(*arguments.data)) {
      throw Error(fmt::format("--data {}: there is no such file or folder; check the path", *arguments.data));
    }
    return data::read_new(data::new_source(*arguments.data, values.data), adapted ? *adapted : data::Adapted{},
                          checked.wanted(), values.data.on_bad_example, feeder_options(values).ahead.threads);
  }
  require_data_files(checked, {arguments.split});
  auto loaded = data::load(values.data, values.seed, checked.wanted_examples(), arguments.split, adapted);
  if (loaded) return std::move(loaded->dataset);
  throw UsageError(data::missing_text(values.data, arguments.split) + ", or a file with --data FILE");
}

/// New data from stdin, in a temporary file that this object removes.
class StandardInput {
 public:
  StandardInput() {
    std::string name = (fs::temp_directory_path() / "mirrortrain-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw Error("--data -: cannot make a folder for what stdin has: " + name);
    folder_ = name;
    std::string text;
    std::array<char, 1 << 16> block{};
    while (const std::size_t count = std::fread(block.data(), 1, block.size(), stdin)) text.append(block.data(), count);
    write_file(file(), text);
  }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;
  ~StandardInput() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  fs::path file() const { return folder_ / "stdin.csv"; }

 private:
  fs::path folder_;
};

/// Like run_to_predict; but if the preprocessing transforms are not applicable to the examples, reports an error in the
/// examples. `key`: the examples' split, if they are one.
Run run_on(const CheckedConfiguration& checked, const data::Dataset& examples,
           const std::optional<data::Adapted>& adapted, const data::SplitKey& key) {
  try {
    return run_to_predict(checked, examples, adapted ? *adapted : data::Adapted{}, {.key = key});
  } catch (const data::KeyError&) {
    for (std::size_t i = 0; i < examples.inputs().size(); ++i) {
      const data::Array& features = examples.features(i);
      const std::string mismatch = data::features_mismatch(features.row_shape(), checked.examples.inputs[i]);
      if (mismatch.empty()) continue;
      return data::at_its_place(key, [&]() -> Run { throw Error(fmt::format("{}: {}", features.origin, mismatch)); });
    }
    throw;
  }
}

/// Writes predictions with the examples' numbers in the whole data: those that were left out have none, or a row of NaN
/// if rows have no numbers.
class NumberedPredictions {
 public:
  NumberedPredictions(PredictionWriter& writer, const data::Dataset& examples, bool fills,
                      const std::vector<OutputMeaning>& meanings, const ExtraColumns& extra)
      : writer_(writer), examples_(examples), extra_(extra), fills_(fills) {
    for (const OutputMeaning& meaning : meanings) {
      nothing_.emplace_back(static_cast<std::size_t>(meaning.elements()), std::numeric_limits<float>::quiet_NaN());
    }
    if (left_out_within(examples) > 0) left_out_ = examples.left_out()->rows;
    const auto found =
        std::ranges::find_if(examples.inputs(), [](const auto& input) { return input.source != nullptr; });
    if (found != examples.inputs().end()) files_ = found->source.get();
  }

  void write(std::span<const ExampleOutput> outputs) {
    pass_left_out();
    const auto at = static_cast<std::size_t>(next_);
    writer_.write(next_++, outputs, files_ != nullptr ? files_->row_text(examples_.first_row() + row_) : "",
                  at < extra_.rows.size() ? extra_.rows[at] : std::vector<std::string>());
    ++row_;
  }
  void finish() {
    pass_left_out();
    writer_.finish();
  }

 private:
  void pass_left_out() {
    for (; !left_out_.empty() && left_out_.front() == next_; left_out_ = left_out_.subspan(1), ++next_) {
      if (!fills_) continue;
      std::vector<ExampleOutput> nothing;
      for (const std::vector<float>& values : nothing_) nothing.push_back({values});
      writer_.write(next_, nothing, "", {});
    }
  }

  PredictionWriter& writer_;
  const data::Dataset& examples_;
  const ExtraColumns& extra_;
  std::span<const std::int64_t> left_out_{};
  bool fills_;
  std::vector<std::vector<float>> nothing_;     ///< by output
  const data::ExampleSource* files_ = nullptr;  ///< of the first input that has a file for each example
  std::int64_t next_ = 0, row_ = 0;
};

/// Counts the examples for which the model outputs NaN.
class NanCount {
 public:
  void add(std::int64_t row) {
    if (count_++ == 0) first_ = row;
  }
  void warn(const data::Dataset& examples, const VariableStore& variables, const Model& model) const {
    if (count_ == 0) return;
    spdlog::warn("the model gives NaN for {} of {} example{}, first for row {} (counting from 0): {}", count_,
                 examples.rows(), examples.rows() == 1 ? "" : "s", first_, reason_of_nan(variables, model));
  }

 private:
  std::int64_t count_ = 0, first_ = 0;
};

/// Thrown if a signal requests a stop.
struct Stopped {
  int signal;
};

int predict(PredictArguments arguments) {
  const PredictionFormat format = format_of(arguments.output);
  if (is_of_arrays(format) && (!arguments.keep.empty() || arguments.labels)) {
    throw UsageError(
        fmt::format("--output {}: --keep and --labels write columns beside the predictions, which arrays do "
                    "not have; write .csv or .jsonl",
                    *arguments.output));
  }
  std::optional<StandardInput> standard_input;
  if (arguments.data == "-" || arguments.data == "/dev/stdin") {
    arguments.data = standard_input.emplace().file().string();
  }
  const TrainedRun trained = open_trained_run(arguments.run, arguments.overrides);
  const CheckedConfiguration& checked = trained.checked;
  if (standard_input && data::has_columns_of_pictures(checked.values().data)) {
    throw UsageError(
        "--data -: the run reads pictures, whose paths are relative to the table's folder; give the table as a file");
  }
  const std::optional<data::Adapted>& adapted = trained.adapted;
  const data::Dataset examples = read_examples(arguments, checked, adapted ? &*adapted : nullptr);

  const data::Dataset* const all[] = {&examples};
  report_left_out(all, LeftOutList::kFirst);
  warn_of_remarks(examples);
  if (arguments.data) {
    if (const std::string twice = rescaled_twice(checked, examples); !twice.empty()) {
      spdlog::warn("{}: {}, or write them as the training data", *arguments.data, twice);
    }
  } else {
    warn_of_changed_data(trained.named.folder.checkpoints(), arguments.split, examples,
                         data::is_drawn_from_train(checked.values().data, arguments.split));
  }
  const Run run = run_on(checked, examples, adapted,
                         arguments.data ? data::SplitKey{} : data::key_of(checked.values().data, arguments.split));
  load_trained_weights(trained.named, *run.strategy);

  std::vector<OutputMeaning> meanings = output_meanings(checked, adapted ? &*adapted : nullptr);
  if (arguments.threshold) {
    if (std::ranges::none_of(meanings, [](const auto& one) { return one.kind == OutputMeaning::Kind::kYesOrNo; })) {
      throw UsageError("--threshold is for models of two classes, with one output and a binary crossentropy");
    }
    for (OutputMeaning& meaning : meanings) meaning.threshold = *arguments.threshold;
  }
  const ExtraColumns extra = extra_columns({arguments.data, arguments.keep, arguments.labels}, checked.values().data,
                                           adapted ? &*adapted : nullptr, examples);
  if (arguments.labels && extra.names.size() == arguments.keep.size()) {
    spdlog::warn("--labels: {} no label that is one number or class, so none is written",
                 arguments.data ? fmt::format("{} has", *arguments.data) : "the examples have");
  }
  if (!arguments.output) require_not_read("/dev/stdout");
  PredictionOutput output;
  output.extra_columns = extra.names;
  if (arguments.output) output.file = *arguments.output;
  output.format = format;
  output.probabilities = arguments.probabilities;
  output.rows = examples.rows() + (is_of_arrays(format) ? left_out_within(examples) : 0);
  const std::atomic<int>& signal = catch_stop_signals_quietly();  // from here on there is a file to remove
  try {
    const auto writer = make_prediction_writer(output, meanings);
    NumberedPredictions predictions(*writer, examples, is_of_arrays(format), meanings, extra);
    // Not displayed among the predictions themselves.
    BatchProgress progress("predictions", arguments.output || !report::is_terminal(stdout));
    NanCount nan;
    const std::int64_t batch = kPredictedRows * run.strategy->num_replicas_in_sync();
    predict_all(run, [&](std::int64_t row, std::span<const ExampleOutput> outputs) {
      if (const int stop = signal) throw Stopped{stop};
      if (row % batch == 0) progress.show(row / batch + 1, (examples.rows() - 1) / batch + 1);
      predictions.write(outputs);
      bool any_nan = false;
      for (std::size_t i = 0; i < outputs.size(); ++i) any_nan = any_nan || has_nan(meanings[i], outputs[i]);
      if (any_nan) nan.add(row);
    });
    predictions.finish();
    nan.warn(examples, run.strategy->variables(), *checked.model);
  } catch (const Stopped& stopped) {
    spdlog::warn("stopped by a signal{}",
                 arguments.output ? fmt::format("; {} is not written", *arguments.output) : "");
    return 128 + stopped.signal;
  }
  spdlog::info("{} prediction{}", examples.rows(), examples.rows() == 1 ? "" : "s");
  return 0;
}

}  // namespace

void add_predict(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<PredictArguments>();
  CLI::App* command = app.add_subcommand("predict", "Run a trained model on new data.");
  command->add_option("RUN", arguments->run, "A run's name or folder, or a checkpoint's")->required();
  add_overrides(*command, arguments->overrides);
  CLI::Option* const data =
      command->add_option("--data", arguments->data,
                          "New data, with labels or without: a .csv, .npy or .npz file, a picture or a folder of "
                          "them, or a file of the format of the run's test data; -: a table on stdin");
  add_split(*command, arguments->split, "The run's own data instead: test, validation or train")->excludes(data);
  add_output_file(
      *command, "-o,--output", arguments->output,
      "File to write: .csv, .jsonl, .npy (the raw outputs) or .npz (an array for each output of the model); "
      "without it csv goes to stdout");
  command
      ->add_option("--keep", arguments->keep,
                   "Columns of the new table that are written with the predictions: id,name; of pictures: file")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("COLUMNS");
  command
      ->add_option("--threshold", arguments->threshold,
                   "Of a model of two classes with one output: the probability above which it is class 1; default: 0.5")
      ->type_name("P")
      ->check([](const std::string& text) -> std::string {
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool fits = error == std::errc() && end == text.data() + text.size() && value > 0 && value < 1;
        return fits ? "" : fmt::format("expected a probability between 0 and 1, found '{}'", text);
      });
  command->add_flag("--labels", arguments->labels, "Write the true label too, where the data have one for an example");
  command->add_flag("--probabilities", arguments->probabilities,
                    "Write the probability of each class too, or the outputs where there are no classes");
  command->callback([arguments, &exit_code] { exit_code = predict(*arguments); });
}

}  // namespace mirrortrain::cli
