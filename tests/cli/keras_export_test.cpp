// Models of this program's own as files that Keras loads: read back here, they compute the same.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "cli/run_program.h"
#include "data/loading/load.h"
#include "error_text.h"
#include "temporary_folder.h"
#include "train/checkpoint/load_initial_weights.h"
#include "train/export/export_run.h"
#include "train/inference/predict.h"
#include "train/session/check_configuration.h"

namespace {

namespace fs = std::filesystem;
using namespace mirrortrain;

int run_words(std::vector<std::string> words) {
  words.insert(words.begin(), "mirrortrain");
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  return cli::run_program(static_cast<int>(arguments.size()), arguments.data());
}

/// A configuration that was trained for a few steps.
struct Trained {
  TemporaryFolder temporary;
  fs::path run = temporary / "run";

  explicit Trained(const std::string& configuration) {
    write_file(temporary / "own.yaml", configuration);
    REQUIRE(run_words({"fit", temporary / "own.yaml", "--run-dir", run, "-q"}) == 0);
  }

  void write(const fs::path& path) const { write_file(path, keras_bytes(open_trained_run(run.string(), {}), {})); }
};

std::vector<float> predictions(const std::string& configuration, const std::string& weights, const std::string& train) {
  const std::vector<std::string> overrides = {"data.train=" + train, "data.validation=null", "data.test=null"};
  const CheckedConfiguration checked = check_configuration(configuration, overrides);
  data::Splits splits = data::load(checked.values().data, 0, checked.wanted_examples());
  const Run run = run_to_predict(checked, splits.train, splits.adapted, {.one_replica = true});
  load_initial_weights(config::Path{weights}, *run.strategy);
  std::vector<float> all;
  predict_all(run, [&](std::int64_t, std::span<const ExampleOutput> outputs) {
    for (const ExampleOutput& output : outputs) all.insert(all.end(), output.values.begin(), output.values.end());
  });
  return all;
}

/// What the model predicts before and after it went through a file of Keras's. Kept files are for
/// tools/reference/check_keras_files.py.
void computes_the_same(const std::string& name, const std::string& configuration, const std::string& train) {
  CAPTURE(name);
  const Trained trained(configuration);
  const fs::path file = trained.temporary / "own.keras";
  trained.write(file);
  REQUIRE(run_words({"init", file, "-o", trained.temporary / "again.yaml"}) == 0);
  const auto before = predictions(trained.run / "config.yaml", trained.run / "model.safetensors", train);
  const auto after = predictions(trained.temporary / "again.yaml", trained.temporary / "again.safetensors", train);
  REQUIRE(before.size() == after.size());
  double largest = 0;
  for (std::size_t i = 0; i < before.size(); ++i) largest = std::max(largest, std::abs(double(before[i]) - after[i]));
  MESSAGE(fmt::format("{}: differ by at most {:.2g}", name, largest));
  CHECK(largest <= 1e-6);
  if (const char* const kept = std::getenv("MIRRORTRAIN_KEEP_KERAS_FILES")) {
    fs::copy_file(file, fs::path(kept) / (name + ".keras"));
    write_file(fs::path(kept) / (name + ".json"), nlohmann::json{{"train", train}, {"predictions", before}}.dump());
  }
}

const std::string kTraining = R"(
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: sgd, learning_rate: 0.05}
strategy: {type: one_device}
training: {steps: 3}
logging: {report: false, tensorboard: false}
)";

}  // namespace

TEST_CASE("a class token and an embedding of positions are said by layers that Keras has") {
  computes_the_same("own-tokens", R"(
data:
  global_batch_size: 4
  train: {format: synthetic, examples: 8, shape: [3, 4], classes: 3}
model:
  input_shape: [3, 4]
  layers:
    - class_token: {initializer: {type: random_normal, stddev: 0.5}, name: token}
    - position_embedding: {sequence_length: 4, name: positions}
    - layer_normalization: {name: norm}
    - flip: {axis: 1, name: reversed}
    - conv1d: {filters: 3, kernel_size: 2, activation: relu, name: conv}
    - average_pooling1d: {pool_size: 2, name: pool}
    - flatten: {name: flat}
    - dense: {units: 3, name: head}
)" + kTraining,
                    "{format: inline, features: [[[1, 2, 3, 4], [0, 1, 0, -1], [0.5, 0.25, 2, 1]]], labels: [0]}");
}

TEST_CASE("a dense layer with an embedding's table is the embedding in reverse") {
  computes_the_same("own-tied", R"(
data:
  global_batch_size: 4
  train: {format: synthetic, examples: 8, inputs: {input: {shape: [3], below: 7}}, classes: 7, label_shape: [3]}
model:
  input_shape: [3]
  layers:
    - embedding: {input_dim: 7, output_dim: 4, name: table}
    - dense: {units: 4, activation: tanh, name: hidden}
    - dense: {units: 7, use_bias: false, tied_to: table, name: logits}
)" + kTraining,
                    "{format: inline, features: [[1, 2, 6], [0, 5, 3]], labels: [[0, 0, 0], [1, 1, 1]]}");
}

TEST_CASE("preprocessing and a frozen layer go into the file") {
  computes_the_same("own-pictures", R"(
data:
  global_batch_size: 4
  train: {format: synthetic, examples: 8, shape: [6, 6, 2], classes: 3}
  preprocessing:
    - rescaling: {scale: 0.5, offset: -0.25}
    - resizing: {height: 5, width: 4}
    - normalization: {mean: [0.1, 0.2], variance: [2, 3]}
    - random_flip: {mode: horizontal}
model:
  input_shape: [5, 4, 2]
  freeze: [conv]
  layers:
    - conv2d: {filters: 3, kernel_size: 2, activation: relu, name: conv}
    - global_average_pooling2d: {name: pool}
    - dense: {units: 3, name: head}
)" + kTraining,
                    "{format: synthetic, examples: 2, shape: [6, 6, 2], classes: 3, seed: 3}");
}

TEST_CASE("what Keras cannot say is refused by the layers' names, all at once") {
  const Trained trained(R"(
data:
  global_batch_size: 4
  train: {format: synthetic, examples: 8, shape: [4], classes: 3}
model:
  input_shape: [4]
  layers:
    - expression: {formula: 'x * sigmoid(x)', name: swish}
    - dense: {units: 3, activation: gelu_tanh, name: curved}
    - dense: {units: 3, lora_rank: 1, name: low}
)" + kTraining);
  const std::string text = error_text([&] { trained.write(trained.temporary / "own.keras"); });
  CHECK(text.find("layer 'swish' (expression): a formula is nothing that Keras saves") != text.npos);
  CHECK(text.find("layer 'curved' (dense): activation: gelu_tanh") != text.npos);
  CHECK(text.find("layer 'low' (dense): lora_rank") != text.npos);
  CHECK(text.find("3 errors") != text.npos);
  CHECK_FALSE(fs::exists(trained.temporary / "own.keras"));
}
