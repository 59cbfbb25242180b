// Models of this program's own as files that Keras loads: read back here, they compute the same.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "cli/run_program.h"
#include "data/loading/load.h"
#include "error_text.h"
#include "keras/reading/keras_file.h"
#include "temporary_folder.h"
#include "train/checkpoint/checkpoint_folder.h"
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
    write_file(fs::path(kept) / (name + ".json"), json_text(nlohmann::json{{"train", train}, {"predictions", before}}));
  }
}

/// The lines of a run's metrics.jsonl that are of steps: their losses.
std::vector<double> losses_of_steps(const fs::path& run) {
  std::vector<double> losses;
  std::istringstream lines(read_text_file(run / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json event = parse_json<nlohmann::json>(line);
    if (event["event"] == "step") losses.push_back(event["loss"].get<double>());
  }
  return losses;
}

/// Two branches, which the file lists in another order than Keras does.
std::string branches(const std::string& optimizer, int steps) {
  return fmt::format(R"(
data:
  global_batch_size: 4
  train: {{format: inline, features: [[1, 2], [-1, 0.5], [0, -2], [3, 1]], labels: [0, 1, 2, 1]}}
model:
  input_shape: [2]
  layers:
    - dense: {{units: 3, activation: tanh, name: short}}
    - dense: {{units: 4, activation: tanh, name: long, inputs: [input]}}
    - batch_normalization: {{name: norm}}
    - dense: {{units: 3, name: longer}}
    - add: {{inputs: [short, longer], name: both}}
    - dense: {{units: 3, name: head}}
loss: {{type: sparse_categorical_crossentropy, from_logits: true}}
optimizer: {}
strategy: {{type: one_device}}
training: {{steps: {}}}
logging: {{report: false, tensorboard: false, every_steps: 1}}
)",
                     optimizer, steps);
}

/// Trains, and checks that the file has the state of the checkpoint: these of its slots, in this order. Kept files have
/// the losses of ten further steps beside them.
void takes_the_state_along(const std::string& name, const std::string& optimizer, std::size_t numbers_before,
                           const std::vector<std::string>& slots) {
  CAPTURE(name);
  const Trained trained(branches(optimizer, 5));
  const fs::path file = trained.temporary / "own.keras";
  trained.write(file);
  const StoredTensors stored = keras::read_keras_file(file).weights.datasets;
  REQUIRE(stored.at("optimizer/vars/0").span<std::int64_t>()[0] == 5);
  const StoredTensors saved = open_checkpoint(trained.run / "checkpoints" / "step-000005").training.read_all();
  for (std::size_t i = 0; i < slots.size(); ++i) {
    CAPTURE(slots[i]);
    CHECK(stored.at(fmt::format("optimizer/vars/{}", numbers_before + i)).data ==
          saved.at("optimizer/" + slots[i]).data);
  }
  if (const char* const kept = std::getenv("MIRRORTRAIN_KEEP_KERAS_FILES")) {
    const Trained longer(branches(optimizer, 15));
    std::vector<double> losses = losses_of_steps(longer.run);
    losses.erase(losses.begin(), losses.begin() + 5);
    fs::copy_file(file, fs::path(kept) / (name + ".keras"));
    write_file(
        fs::path(kept) / (name + ".json"),
        json_text(nlohmann::json{
            {"features", {{1, 2}, {-1, 0.5}, {0, -2}, {3, 1}}}, {"labels", {0, 1, 2, 1}}, {"further_losses", losses}}));
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

TEST_CASE("parts of a tensor and its reductions are operations") {
  computes_the_same(
      "parts", R"(
data:
  global_batch_size: 4
  train: {format: synthetic, examples: 8, shape: [5, 4], classes: 3}
model:
  input_shape: [5, 4]
  layers:
    - dense: {units: 6, name: steps}
    - expression: {formula: 'x[0]', name: first, inputs: [steps]}
    - expression: {formula: 'x[-1, 2:]', name: last, inputs: [steps]}
    - expression: {formula: 'x[..., 1]', name: second, inputs: [steps]}
    - expression: {formula: 'x0[1:3, :-1]', name: inner, inputs: [steps]}
    - expression: {formula: 'mean(x, axis=0)', name: average, inputs: [steps]}
    - expression: {formula: 'max(x, axis=-1)', name: largest, inputs: [steps]}
    - expression: {formula: 'sum(x, axis=[0, 1], keepdims=true)', name: total, inputs: [steps]}
    - flatten: {name: row, inputs: [inner]}
    - flatten: {name: one, inputs: [total]}
    - concatenate: {inputs: [first, last, second, row, average, largest, one]}
    - dense: {units: 3}
)" + kTraining,
      "{format: inline, features: [[[1, 2, 3, 4], [0, 1, 0, -1], [0.5, 0.25, 2, 1], [3, 1, -2, 0], [1, 1, 4, 2]]], "
      "labels: [0]}");
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

TEST_CASE("losses whose labels no output bounds, or of a length that Keras does not save, come back") {
  const std::string rest = R"(
optimizer: {type: sgd, learning_rate: 0.05}
strategy: {type: one_device}
training: {steps: 3}
logging: {report: false, tensorboard: false}
)";
  computes_the_same("own-groups", R"(
data:
  global_batch_size: 4
  train: {format: synthetic, examples: 8, shape: [4], classes: 3}
model: {input_shape: [4], layers: [{dense: {units: 3, name: head}}, {unit_normalization: {name: norm}}]}
loss: {type: circle}
)" + rest,
                    "{format: inline, features: [[1, 2, 6, 0], [0, 5, 3, 1]], labels: [0, 1]}");
  computes_the_same("own-symbols", R"(
data:
  global_batch_size: 4
  train: {format: synthetic, examples: 8, shape: [6, 2], classes: 4, label_shape: [1]}
model: {input_shape: [6, 2], layers: [{dense: {units: 4, name: head}}]}
loss: {type: ctc, label_length: 1}
)" + rest,
                    "{format: synthetic, examples: 2, shape: [6, 2], classes: 4, label_shape: [1], seed: 3}");
}

/// Words with padding, read by these layers.
std::string of_words(const std::string& layers) {
  return R"(
data:
  global_batch_size: 4
  train: {format: synthetic, examples: 8, inputs: {input: {shape: [5], below: 9}}, classes: 3}
model:
  input_shape: [5]
  layers:
    - embedding: {input_dim: 9, output_dim: 4, mask_zero: true, name: e}
)" + layers +
         R"(
    - dense: {units: 3, name: head}
)" + kTraining;
}

const std::string kWords = "{format: inline, features: [[1, 2, 6, 0, 0], [8, 0, 0, 0, 0]], labels: [0, 1]}";

TEST_CASE("attention reads copies with masks, off which Keras takes them, so that other readers keep them") {
  const std::string configuration = of_words(R"(
    - multi_head_attention: {num_heads: 2, key_dim: 2, name: a}
    - add: {inputs: [e, a], name: first}
    - expression: {formula: x, name: seen, inputs: [first]}
    - multi_head_attention: {num_heads: 2, key_dim: 2, name: b, inputs: [first, seen]}
    - add: {inputs: [first, b], name: second}
    - global_average_pooling1d: {name: pool}
)");
  computes_the_same("own-masked", configuration, kWords);
  const Trained trained(configuration);
  const fs::path file = trained.temporary / "own.keras";
  trained.write(file);
  std::map<std::string, std::string> read;  // by attention, its first input
  const keras::Json model = keras::read_keras_file(file).model;
  for (const keras::Json& layer : model["config"]["layers"]) {
    if (layer["class_name"] != "MultiHeadAttention") continue;
    read[layer["name"]] = layer["inbound_nodes"][0]["args"][0]["config"]["keras_history"][0];
  }
  CHECK(read == std::map<std::string, std::string>{{"a", "e_with_mask"}, {"b", "first_with_mask"}});
}

TEST_CASE("a layer that is called as Keras calls an operation on masks has another name there") {
  const std::string configuration = of_words(R"(
    - dense: {units: 4, name: d}
    - concatenate: {inputs: [e, d]}
    - lstm: {units: 3, name: l}
)");
  computes_the_same("own-joined", configuration, kWords);
  const Trained trained(configuration);
  const fs::path file = trained.temporary / "own.keras";
  trained.write(file);
  std::vector<std::string> names;
  const keras::Json model = keras::read_keras_file(file).model;
  for (const keras::Json& layer : model["config"]["layers"]) names.push_back(layer["name"]);
  CHECK(names == std::vector<std::string>{"input", "e", "d", "concatenate_layer", "l", "head"});
}

TEST_CASE("masks that Keras would not hand on so are refused") {
  const auto text_of = [](const std::string& layers) {
    const Trained trained(of_words(layers));
    return error_text([&] { trained.write(trained.temporary / "own.keras"); });
  };
  const std::string reversed = text_of(
      "    - lstm: {units: 3, return_sequences: true, go_backwards: true, name: l}\n"
      "    - gru: {units: 3, name: g}");
  CHECK(reversed.find("layer 'l' (lstm): go_backwards with return_sequences: Keras leaves the mask") != reversed.npos);
  const std::string positions = text_of(
      "    - position_embedding: {sequence_length: 5, name: p}\n"
      "    - gru: {units: 3, name: g}");
  CHECK(positions.find("layer 'p' (position_embedding): of a sequence with a mask") != positions.npos);
}

TEST_CASE("numbers that are hashed are whole ones of the file's input") {
  const Trained trained(R"(
data:
  global_batch_size: 4
  train: {format: inline, features: [[1, 20], [300, 4], [5, 60], [7, 8]], labels: [0, 1, 2, 1]}
  preprocessing: [hashing: {num_bins: 5}]
model:
  input_shape: [2]
  layers:
    - embedding: {input_dim: 5, output_dim: 3, name: e}
    - flatten: {name: f}
    - dense: {units: 3, name: head}
)" + kTraining);
  const fs::path file = trained.temporary / "own.keras";
  trained.write(file);
  std::map<std::string, keras::Json> types;
  const keras::Json model = keras::read_keras_file(file).model;
  for (const keras::Json& layer : model["config"]["layers"]) {
    if (layer["config"].contains("dtype")) types[layer["class_name"]] = layer["config"]["dtype"];
  }
  CHECK(types["InputLayer"] == "int64");
  CHECK(types["Hashing"] == "int64");
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

TEST_CASE("the optimizer's state goes into the file in Keras's order, so that fit there goes on where the run ended") {
  takes_the_state_along("own-state-sgd", "{type: sgd, learning_rate: 0.1, momentum: 0.9}", 2,
                        {"momentum/long/kernel", "momentum/long/bias", "momentum/norm/gamma", "momentum/norm/beta",
                         "momentum/short/kernel", "momentum/short/bias", "momentum/longer/kernel",
                         "momentum/longer/bias", "momentum/head/kernel", "momentum/head/bias"});
  takes_the_state_along("own-state-adam", "{type: adam, learning_rate: 0.01, amsgrad: true}", 2,
                        {"momentum/long/kernel", "velocity/long/kernel", "momentum/long/bias", "velocity/long/bias"});
  const std::string schedule = "{schedule: cosine_decay, initial_learning_rate: 0.05, decay_steps: 20}";
  takes_the_state_along("own-state-nadam", fmt::format("{{type: nadam, learning_rate: {}}}", schedule), 1,
                        {"momentum/long/kernel", "velocity/long/kernel"});
  takes_the_state_along("own-state-rmsprop", "{type: rmsprop, learning_rate: 0.01, momentum: 0.5}", 2,
                        {"velocity/long/kernel", "velocity/long/bias"});
  takes_the_state_along("own-state-adafactor", "{type: adafactor, learning_rate: 0.01}", 2,
                        {"row/long/kernel", "column/long/kernel"});
  for (const char* const type : {"adamax", "adagrad", "adadelta", "ftrl", "lion", "lamb", "muon", "adamw"}) {
    takes_the_state_along(fmt::format("own-state-{}", type), fmt::format("{{type: {}, learning_rate: 0.01}}", type), 2,
                          {});
  }
}

TEST_CASE("without a checkpoint of its step a run's optimizer begins anew in Keras, and the rest is written") {
  const Trained trained(branches("{type: adam}", 3));
  fs::remove_all(trained.run / "checkpoints");
  const fs::path file = trained.temporary / "own.keras";
  trained.write(file);
  const StoredTensors stored = keras::read_keras_file(file).weights.datasets;
  CHECK(stored.contains("layers/dense/vars/0"));
  CHECK_FALSE(stored.contains("optimizer/vars/0"));
}

TEST_CASE("a table's columns are inputs of the file, of texts where they have words") {
  TemporaryFolder temporary;
  const std::string header = "age (years),town,color,kind,user,rank", labels = ",sold\n";
  const std::vector<std::string> rows = {"31,Bonn,red,a,u1,2", ",Ulm,blue,b,u2,1", "54,,red,a,u3,3",
                                         "20,Bonn,green,b,u1,2"};
  std::string training = header + labels, cells = header + "\n";
  for (std::size_t i = 0; i < rows.size(); ++i) training += rows[i] + (i % 2 == 0 ? ",yes\n" : ",no\n");
  for (const std::string& row : rows) cells += row + "\n";
  cells += "40,Ulm,purple,a,u9,1\n";
  write_file(temporary / "t.csv", training);
  write_file(temporary / "new.csv", cells);
  const Trained trained(fmt::format(R"YAML(
data:
  global_batch_size: 4
  train:
    format: csv
    file: {}
    features: ["age (years)", town, color, kind, user, both]
    labels: sold
    missing: {{"age (years)": mean, town: constant}}
    encoding:
      town: one_hot
      color: {{one_hot: {{unknown: own_class}}}}
      kind: index
      user: {{hashing: {{num_bins: 5, output_mode: one_hot}}}}
    crosses: {{both: {{columns: [kind, rank], integers: [rank], num_bins: 6, output_mode: one_hot}}}}
  preprocessing: [{{normalization: {{adapt: true}}}}]
model:
  input_shape: [20]
  layers:
    - dense: {{units: 2, name: kind}}
loss: {{type: sparse_categorical_crossentropy, from_logits: true}}
optimizer: {{type: adam, learning_rate: 0.05}}
strategy: {{type: one_device}}
training: {{steps: 3}}
logging: {{report: false, tensorboard: false}}
)YAML",
                                    (temporary / "t.csv").string()));
  const fs::path file = trained.temporary / "own.keras";
  trained.write(file);
  const keras::Json model = keras::read_keras_file(file).model;
  std::map<std::string, std::string> types;
  for (const keras::Json& layer : model["config"]["layers"]) {
    if (layer["class_name"] == "InputLayer") types[layer["name"]] = layer["config"]["dtype"];
  }
  const std::map<std::string, std::string> expected = {{"age__years_", "float32"}, {"town", "string"},
                                                       {"color", "string"},        {"kind_1", "string"},
                                                       {"user", "string"},         {"rank", "int64"}};
  CHECK(types == expected);
  if (const char* const kept = std::getenv("MIRRORTRAIN_KEEP_KERAS_FILES")) {
    REQUIRE(run_words({"predict", trained.run, "--data", temporary / "new.csv", "--output", temporary / "p.jsonl",
                       "--probabilities"}) == 0);
    fs::copy_file(file, fs::path(kept) / "own-columns.keras");
    write_file(fs::path(kept) / "own-columns.json",
               json_text(nlohmann::json{{"csv", cells},
                                        {"inputs", {{"age__years_", "age (years)"}, {"kind_1", "kind"}}},
                                        {"jsonl", read_text_file(temporary / "p.jsonl")}}));
  }
}

TEST_CASE("a column that Keras has no layers for is refused by its name") {
  TemporaryFolder temporary;
  write_file(temporary / "t.csv", "town,age,sold\nBonn,1,0\nUlm,2,1\n");
  const Trained trained(fmt::format(R"(
data:
  global_batch_size: 2
  train: {{format: csv, file: {}, labels: sold, encoding: {{town: hash}}}}
)",
                                    (temporary / "t.csv").string()) +
                        R"(
model: {input_shape: [2], layers: [{dense: {units: 2, name: head}}]}
)" + kTraining);
  const std::string text = error_text([&] { trained.write(trained.temporary / "own.keras"); });
  CHECK(text.find("column 0 ('town'): hash is nothing that Keras computes") != text.npos);
  CHECK(text.find("--raw") != text.npos);
}

TEST_CASE("metrics whose figure Keras does not have refuse the file, until the run has them no more") {
  const Trained trained(R"(
data:
  global_batch_size: 4
  train: {format: synthetic, examples: 8, shape: [4], classes: 2, label_shape: [1]}
model: {input_shape: [4], layers: [{dense: {units: 1, name: head}}]}
loss: {type: binary_crossentropy, from_logits: true}
metrics: [accuracy, precision: {threshold: 0.9}, f1_score: {threshold: 0.5}, f1_score: {threshold: 0.6}]
optimizer: sgd
strategy: {type: one_device}
training: {steps: 3}
logging: {report: false, tensorboard: false}
)");
  const fs::path file = trained.temporary / "own.keras", configuration = trained.run / "config.yaml";
  CHECK(error_text([&] { trained.write(file); }).find("metrics: precision: the threshold 0.9 is 2.197 of logits") !=
        std::string::npos);
  std::string text = read_text_file(configuration);
  const std::size_t precision = text.find("  - precision:"), score = text.find("  - f1_score:");
  REQUIRE(precision < score);
  REQUIRE(score != text.npos);
  write_file(configuration, text.erase(precision, score - precision));
  trained.write(file);
  const keras::Json compiled = keras::read_keras_file(file).compiled;
  REQUIRE(compiled["metrics"].size() == 3);
  CHECK(compiled["metrics"][0]["class_name"] == "BinaryAccuracy");
  CHECK(compiled["metrics"][1]["config"]["threshold"] == 1e-30);
  CHECK(compiled["metrics"][0]["config"]["name"] == "accuracy");
  CHECK(compiled["metrics"][2]["config"]["name"] == "f1_score_1");
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
