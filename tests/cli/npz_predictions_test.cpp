// Predictions as arrays: an .npz has one for each output of the model.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "cli/npz_arrays.h"
#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::npz_predictions_test {
namespace {

const std::string kTwoOutputs = R"(data:
  global_batch_size: 16
  train:
    format: synthetic
    examples: 80
    inputs: {user: {shape: [], below: 10}, context: {shape: [4]}}
    labels: {rating: {label_shape: [1]}, clicked: {classes: 3}}
model:
  inputs: {user: {shape: []}, context: {shape: [4]}}
  layers:
    - embedding: {input_dim: 10, output_dim: 4, inputs: [user], name: users}
    - concatenate: {inputs: [users, context], name: all}
    - dense: {units: 1, inputs: [all], name: rating}
    - dense: {units: 3, inputs: [all], name: clicked}
  outputs: [rating, clicked]
loss:
  rating: mean_squared_error
  clicked: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: adam, learning_rate: 0.01}
training: {epochs: 1}
strategy: {devices: [cpu:0]}
)";

/// Columns x and y, and a class; a row is bad where a number is missing.
const std::string kOneOutput = R"(data:
  global_batch_size: 4
  on_bad_example: skip
  train: {format: csv, file: train.csv, labels: kind}
model:
  input_shape: [2]
  layers:
    - dense: {units: 3, name: scores}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: sgd, learning_rate: 0.1}
training: {epochs: 1}
strategy: {devices: [cpu:0]}
)";

std::vector<std::string> entries_of(const TemporaryFolder& folder, const std::string& start) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    if (entry.path().filename().string().starts_with(start)) names.push_back(entry.path().filename().string());
  }
  return names;
}

struct Trained {
  TemporaryFolder folder;
  explicit Trained(const std::string& configuration) {
    write_file(folder / "a.yaml", configuration);
    write_file(folder / "train.csv", "x,y,kind\n1,2,a\n3,1,b\n2,2,c\n1,,a\n5,1,b\n");
    REQUIRE(run("fit a.yaml --run-dir run").exit_code == 0);
  }
  Outcome run(const std::string& arguments) { return run_program(folder, arguments); }
  Outcome predict(const std::string& arguments) { return run("predict run --split train " + arguments); }
};

TEST_CASE("an npz file has an array for each output, by its name: raw, or with probabilities") {
  Trained trained(kTwoOutputs);
  REQUIRE(trained.predict("-o p.npz").exit_code == 0);
  REQUIRE(trained.predict("-o probable.npz --probabilities").exit_code == 0);
  REQUIRE(trained.predict("-o p.jsonl --probabilities").exit_code == 0);
  const auto raw = arrays_of(trained.folder / "p.npz"), probable = arrays_of(trained.folder / "probable.npz");
  const auto lines = events_of(trained.folder / "p.jsonl");
  REQUIRE(raw.size() == 2);
  CHECK(raw.at("rating").shape == "80, 1,");
  CHECK(raw.at("clicked").shape == "80, 3,");
  REQUIRE(raw.at("clicked").elements.size() == 240);
  CHECK(probable.at("rating").elements == raw.at("rating").elements);
  for (std::size_t row = 0; row < 80; ++row) {
    CHECK(lines[row].at("rating").get<float>() == raw.at("rating").elements[row]);
    double sum = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      sum += std::exp(static_cast<double>(raw.at("clicked").elements[3 * row + i]));
    }
    for (std::size_t i = 0; i < 3; ++i) {
      const float probability = probable.at("clicked").elements[3 * row + i];
      CHECK(lines[row].at("clicked_probabilities")[i].get<float>() == probability);
      CHECK(probability == doctest::Approx(std::exp(raw.at("clicked").elements[3 * row + i]) / sum).epsilon(1e-5));
    }
  }
  const Outcome npy = trained.predict("-o p.npy");
  CHECK(npy.exit_code == 2);
  CHECK(contains(npy.err,
                 "--output p.npy: an .npy file holds one array, and the model has 2 outputs; write .npz, which "
                 "has an array for each"));
}

TEST_CASE("of a model with one output, the array has the layer's name, and rows that were left out are NaN") {
  Trained trained(kOneOutput);
  REQUIRE(trained.predict("-o p.npz").exit_code == 0);
  REQUIRE(trained.predict("-o p.npy").exit_code == 0);
  const auto arrays = arrays_of(trained.folder / "p.npz");
  REQUIRE(arrays.size() == 1);
  const Array& scores = arrays.at("scores");
  CHECK(scores.shape == "5, 3,");
  for (std::size_t i = 0; i < 15; ++i) CHECK(std::isnan(scores.elements[i]) == (i / 3 == 3));
  const std::string npy = read_text_file(trained.folder / "p.npy");
  REQUIRE(npy.size() == 128 + 60);
  CHECK(std::memcmp(npy.data() + 128, scores.elements.data(), 60) == 0);
}

TEST_CASE("an npz file has the same bytes on any number of replicas, and replaces the one that was there") {
  Trained trained(kTwoOutputs);
  REQUIRE(trained.predict("-o one.npz").exit_code == 0);
  write_file(trained.folder / "three.npz", "what was there");
  REQUIRE(trained.predict("-o three.npz --set 'strategy.devices=[cpu:0,cpu:1,cpu:2]'").exit_code == 0);
  CHECK(read_text_file(trained.folder / "one.npz") == read_text_file(trained.folder / "three.npz"));
}

TEST_CASE("an npz file that cannot be written whole leaves nothing behind") {
  Trained trained(kTwoOutputs);
  // Two arrays of 40 and 120 KB: a file of 64 KiB has no room for the second, one of 150 KiB none for both.
  for (const int most : {64, 150}) {
    const Outcome full = run_script(
        trained.folder,
        fmt::format("ulimit -f {}; \"$MIRRORTRAIN\" predict run --split train --set data.train.examples=10000 -o p.npz",
                    most));
    CHECK(full.exit_code == 1);
    CHECK_MESSAGE(contains(full.err, "cannot write p.npz: File too large"), full.err);
    CHECK(entries_of(trained.folder, "p.npz").empty());
  }
  const Outcome stopped = run_script(
      trained.folder,
      "setsid \"$MIRRORTRAIN\" predict run --split train --set data.train.examples=5000000 -o p.npz & pid=$!\n"
      "while ! " +
          is_writing("p.npz") +
          "; do kill -0 $pid || exit 99; sleep 0.005; done\n"
          "kill -TERM $pid; wait $pid");
  CHECK(stopped.exit_code == 143);
  CHECK(contains(stopped.err, "stopped by a signal; p.npz is not written"));
  CHECK(entries_of(trained.folder, "p.npz").empty());
  const Outcome nowhere = trained.predict("-o none/p.npz");
  CHECK(nowhere.exit_code != 0);
  CHECK(contains(nowhere.err, "none/p.npz: No such file or directory"));
}

TEST_CASE("an npz file does not replace the data that are read") {
  Trained trained(kOneOutput);
  REQUIRE(trained.predict("-o p.npz").exit_code == 0);
  const std::string before = read_text_file(trained.folder / "p.npz");
  const Outcome refused = trained.run("predict run --data p.npz -o p.npz");
  CHECK(refused.exit_code != 0);
  CHECK(read_text_file(trained.folder / "p.npz") == before);
}

}  // namespace
}  // namespace mirrortrain::testing::npz_predictions_test
