#include "train/predict.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/run_weights.h"
#include "data/new_data.h"
#include "train/prediction.h"

namespace mirrortrain::cli {
namespace {

namespace fs = std::filesystem;

struct PredictArguments {
  std::string run;
  std::vector<std::string> overrides;
  std::optional<std::string> data, output;
  data::Split split = data::Split::kTest;
  bool probabilities = false;
};

PredictionFormat format_of(const std::optional<std::string>& file) {
  if (!file) return PredictionFormat::kCsv;
  const std::map<std::string, PredictionFormat> endings = {
      {".csv", PredictionFormat::kCsv}, {".npy", PredictionFormat::kNpy}, {".jsonl", PredictionFormat::kJsonl}};
  const auto found = endings.find(fs::path(*file).extension().string());
  if (found != endings.end()) return found->second;
  throw UsageError(fmt::format("--output {}: expected a file that ends in .csv, .npy or .jsonl", *file));
}

data::Dataset read_examples(const PredictArguments& arguments, const CheckedConfiguration& checked,
                            const data::Adapted* adapted) {
  const Configuration& values = checked.values();
  if (arguments.data) {
    const data::OneHot* const one_hot = data::find_one_hot(values.data.preprocessing);
    return data::read_new(data::new_source(*arguments.data, values.data), adapted ? *adapted : data::Adapted{},
                          one_hot != nullptr ? one_hot->depth.value : 0, checked.input);
  }
  auto loaded = data::load(values.data, values.seed, arguments.split, adapted);
  if (loaded) return std::move(loaded->dataset);
  throw UsageError(data::missing_text(values.data, arguments.split) + ", or a file with --data FILE");
}

int predict(const PredictArguments& arguments) {
  const PredictionFormat format = format_of(arguments.output);
  const TrainedRun trained = open_trained_run(arguments.run, arguments.overrides);
  const CheckedConfiguration& checked = trained.checked;
  const std::optional<data::Adapted>& adapted = trained.adapted;
  const data::Dataset examples = read_examples(arguments, checked, adapted ? &*adapted : nullptr);

  const Run run = run_to_predict(checked, examples, adapted ? *adapted : data::Adapted{});
  load_trained_weights(trained.named, *run.strategy);

  const OutputMeaning meaning = output_meaning(checked, adapted ? adapted->classes : std::vector<std::string>());
  PredictionOutput output;
  if (arguments.output) output.file = *arguments.output;
  output.format = format;
  output.probabilities = arguments.probabilities;
  output.rows = examples.rows();
  const auto writer = make_prediction_writer(output, meaning);
  const auto elements = static_cast<std::size_t>(meaning.elements());
  predict_all(run, meaning.elements(), [&](std::int64_t first, std::span<const float> outputs) {
    for (std::size_t i = 0; i < outputs.size() / elements; ++i)
      writer->write(first + static_cast<std::int64_t>(i), outputs.subspan(i * elements, elements));
  });
  writer->finish();
  spdlog::info("{} predictions", examples.rows());
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
                          "New data, with labels or without: a .csv, .npy or .npz file, a folder of pictures, or "
                          "one of the format of the run's test data");
  add_split(*command, arguments->split, "The run's own data instead: test, validation or train")->excludes(data);
  command->add_option("--output", arguments->output,
                      "File to write: .csv, .npy (the raw outputs) or .jsonl; without it csv goes to stdout");
  command->add_flag("--probabilities", arguments->probabilities,
                    "Write the probability of each class too, or the outputs where there are no classes");
  command->callback([arguments, &exit_code] { exit_code = predict(*arguments); });
}

}  // namespace mirrortrain::cli
