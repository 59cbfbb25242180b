// Models that Keras saved, against what Keras computes with them: tests/golden/keras-files, made by tools/reference.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "cli/run_program.h"
#include "data/files/zip.h"
#include "data/loading/load.h"
#include "keras/writing/write_keras_model.h"
#include "temporary_folder.h"
#include "train/checkpoint/load_initial_weights.h"
#include "train/inference/predict.h"
#include "train/session/check_configuration.h"

namespace {

using nlohmann::json;
namespace fs = std::filesystem;
using namespace mirrortrain;

/// Of others than the goldens: MIRRORTRAIN_KERAS_MODELS, a folder with folders as keras_files.py makes them.
fs::path models() {
  const char* const given = std::getenv("MIRRORTRAIN_KERAS_MODELS");
  return given != nullptr ? fs::path(given) : fs::path(MIRRORTRAIN_SOURCE_DIR) / "tests/golden/keras-files";
}

int run(std::vector<std::string> words) {
  words.insert(words.begin(), "mirrortrain");
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  return cli::run_program(static_cast<int>(arguments.size()), arguments.data());
}

/// The names that a converted model has for Keras's: the same, or in the same order where a name differs.
std::vector<std::string> keras_names(const std::vector<std::string>& ours, const std::vector<std::string>& theirs) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    names.push_back(std::ranges::count(theirs, ours[i]) > 0 ? ours[i] : theirs[i]);
  }
  return names;
}

std::string mapping(const std::vector<std::string>& ours, const std::vector<std::string>& theirs,
                    const std::string& prefix) {
  std::vector<std::string> entries;
  const std::vector<std::string> names = keras_names(ours, theirs);
  for (std::size_t i = 0; i < ours.size(); ++i) entries.push_back(fmt::format("{}: {}{}", ours[i], prefix, names[i]));
  return fmt::format("{{{}}}", fmt::join(entries, ", "));
}

/// A model of the folder as a configuration, with its data in place of synthetic ones.
struct Converted {
  TemporaryFolder temporary;
  fs::path configuration = temporary / "model.yaml";
  json expected;
  std::vector<std::string> overrides, outputs;

  explicit Converted(const fs::path& folder) : expected(parse_json<json>(read_text_file(folder / "expected.json"))) {
    const fs::path file = fs::exists(folder / "model.h5") ? folder / "model.h5" : folder / "model.keras";
    REQUIRE(run({"init", file, "-o", configuration}) == 0);
    const CheckedConfiguration checked = check_configuration(configuration, {});
    for (const OutputTraits& output : checked.model->outputs) outputs.push_back(output.name);
    const auto inputs = checked.model->inputs;
    const std::string features = inputs.size() == 1
                                     ? fmt::format("features: in_{}", expected.at("inputs")[0].get<std::string>())
                                     : fmt::format("inputs: {}", mapping(inputs, expected.at("inputs"), "in_"));
    const std::string labels = outputs.size() == 1
                                   ? fmt::format("labels: out_{}", expected.at("outputs")[0].get<std::string>())
                                   : fmt::format("labels: {}", mapping(outputs, expected.at("outputs"), "out_"));
    overrides = {
        fmt::format("data.train={{format: npz, file: {}, {}, {}}}", (folder / "data.npz").string(), features, labels),
        "data.validation=null",
        "data.shuffle=false",
        "data.global_batch_size=8",
        "strategy={type: one_device, devices: [cpu:0]}",
        "training.epochs=10",
        "logging={every_steps: 1, tensorboard: false, report: false}"};
  }
};

/// `weights`: the file to take in place of the one that init wrote; "" for that.
void gives_predictions(const Converted& converted, const std::string& weights = "") {
  std::vector<std::string> overrides = converted.overrides;
  if (!weights.empty()) overrides.push_back("model.initial_weights=" + weights);
  CheckedConfiguration checked = check_configuration(converted.configuration, overrides);
  const Configuration& values = checked.values();
  data::Splits splits = data::load(values.data, values.seed, checked.wanted_examples());
  const Run run = run_to_predict(checked, splits.train, splits.adapted, {.one_replica = true});
  load_initial_weights(*values.model->initial_weights, *run.strategy);
  const std::vector<std::string> names = keras_names(converted.outputs, converted.expected.at("outputs"));
  double largest = 0;
  predict_all(run, [&](std::int64_t row, std::span<const ExampleOutput> outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const json& expected = converted.expected.at("predictions").at(names[i]);
      const std::size_t each = outputs[i].values.size();
      REQUIRE(expected.size() == 8 * each);
      for (std::size_t k = 0; k < each; ++k) {
        const double wanted = expected[static_cast<std::size_t>(row) * each + k];
        largest = std::max(largest, std::abs(outputs[i].values[k] - wanted));
      }
    }
  });
  MESSAGE(fmt::format("predictions {} differ by at most {:.2g}", weights, largest));
  CHECK(largest <= 1e-5);
}

/// The metrics of each step, in their order: those that were left out are not among Keras's either.
void gives_metrics(const std::vector<nlohmann::ordered_json>& found, const json& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t step = 0; step < found.size(); ++step) {
    REQUIRE(found[step].size() == expected[step].size());
    std::size_t i = 0;
    for (const auto& [name, value] : found[step].items()) {
      CAPTURE(step);
      CAPTURE(name);
      CHECK(value.get<double>() == doctest::Approx(expected[step][i++].get<double>()).epsilon(1e-5));
    }
  }
}

void gives_losses(const Converted& converted) {
  const json& losses = converted.expected.at("losses");
  if (losses.empty()) return;
  const fs::path folder = converted.temporary / "run";
  std::vector<std::string> words = {"fit", converted.configuration, "--run-dir", folder, "-q"};
  for (const std::string& one : converted.overrides) words.insert(words.end(), {"--set", one});
  REQUIRE(run(words) == 0);
  std::vector<double> found;
  std::vector<nlohmann::ordered_json> metrics;
  std::ifstream lines(folder / "metrics.jsonl");
  for (std::string line; std::getline(lines, line);) {
    const auto event = parse_json<nlohmann::ordered_json>(line);
    if (event.at("event") != "step") continue;
    found.push_back(event.at("loss"));
    metrics.push_back(event.at("metrics"));
  }
  REQUIRE(found.size() == losses.size());
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    largest = std::max(largest,
                       std::abs(found[i] - losses[i].get<double>()) / std::max(1.0, std::abs(losses[i].get<double>())));
  }
  MESSAGE(fmt::format("losses differ by at most {:.2g}", largest));
  CHECK(largest <= 1e-5);
  if (converted.expected.contains("metrics")) gives_metrics(metrics, converted.expected.at("metrics"));
}

/// The weights of the archive alone, as model.save_weights writes them.
void takes_weights(const Converted& converted, const fs::path& folder) {
  if (!fs::exists(folder / "model.keras")) return gives_predictions(converted, folder / "model.h5");
  gives_predictions(converted, folder / "model.keras");
  if (folder.filename().string().starts_with("keras-3.")) return;  // which do not say the layers' names there
  const fs::path weights = converted.temporary / "some.weights.h5";
  write_file(weights, data::read_text(*data::Zip(folder / "model.keras").open("model.weights.h5", "weights")));
  gives_predictions(converted, weights);
}

/// The state before the first step.
keras::OptimizerState first_state(const CheckedConfiguration& checked) {
  keras::OptimizerState state;
  const LearningRate& rate = learning_rate_of(checked.values().optimizer->all.front());
  if (const auto* const number = std::get_if<double>(&rate)) state.learning_rate = *number;
  for (const ModelVariable& variable : checked.model->variables) {
    const auto& [name, shape] = std::pair(variable.spec.name, variable.spec.shape);
    const std::vector<std::string> slots = slot_names(variable.update, shape);
    const std::vector<float> values = first_slots(variable.update, shape);
    for (std::size_t i = 0; variable.spec.trainable && i < slots.size(); ++i) {
      StoredTensor slot{DType::kFloat32, shape, {}};
      const std::vector<float> elements(static_cast<std::size_t>(shape.elements()), values[i]);
      const auto bytes = std::as_bytes(std::span(elements));
      slot.data.assign(bytes.begin(), bytes.end());
      state.tensors[fmt::format("optimizer/{}/{}", slots[i], name)] = std::move(slot);
    }
  }
  return state;
}

/// Writes the model as Keras saves it, and reads that again: it has the same weights, bit by bit.
void comes_back(const Converted& converted, const std::string& name) {
  const CheckedConfiguration checked = check_configuration(converted.configuration, {});
  const Configuration& values = checked.values();
  config::Errors errors;
  const Wiring wiring = wire_layers(*values.model, errors);
  const StoredTensors weights = read_safetensors(converted.temporary / "model.safetensors");
  const keras::KerasExport what{
      .name = "model",
      .model = *values.model,
      .wiring = wiring,
      .built = *checked.model,
      .preprocessing = values.data.preprocessing,
      .objectives = checked.objectives,
      .optimizer = &*values.optimizer,
      .gradients = {values.gradients.clip_norm, values.gradients.clip_value, values.gradients.accumulate_steps},
      .weights = weights,
      .optimizer_state = first_state(checked)};
  const fs::path written = converted.temporary / "written.keras";
  const auto is_expression = [](const auto& layer) {
    const auto* const expression = config::get_if<layers::Expression>(&layer.value);
    const auto* const steps = config::get_if<layers::TimeDistributed>(&layer.value);
    return (expression != nullptr && expression->formula != "x") ||
           (steps != nullptr && config::holds_alternative<layers::Expression>(steps->layer));
  };
  if (std::ranges::any_of(values.model->layers, is_expression)) return;  // which Keras has not
  keras::write_keras_model(written, what);
  const std::string bytes = read_text_file(written);
  keras::write_keras_model(written, what);
  CHECK(read_text_file(written) == bytes);
  if (const char* const kept = std::getenv("MIRRORTRAIN_KEEP_KERAS_FILES"))
    fs::copy_file(written, fs::path(kept) / (name + ".keras"));
  REQUIRE(run({"init", written, "-o", converted.temporary / "again.yaml"}) == 0);
  const StoredTensors again = read_safetensors(converted.temporary / "again.safetensors");
  REQUIRE(again.size() == weights.size());
  for (const auto& [variable, tensor] : weights) {
    CAPTURE(variable);
    REQUIRE(again.contains(variable));
    CHECK(again.at(variable).shape == tensor.shape);
    CHECK(again.at(variable).data == tensor.data);
  }
}

}  // namespace

TEST_CASE("models that Keras saved predict and train as in Keras") {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(models())) {
    if (entry.is_directory()) folders.push_back(entry.path());
  }
  std::ranges::sort(folders);
  REQUIRE_FALSE(folders.empty());
  for (const fs::path& folder : folders) {
    CAPTURE(folder.filename().string());
    MESSAGE(folder.filename().string());
    const Converted converted(folder);
    gives_predictions(converted);
    if (folder.filename() == "lora") continue;  // whose factors are nowhere in a file of Keras
    takes_weights(converted, folder);
    gives_losses(converted);
    comes_back(converted, folder.filename());
  }
}
