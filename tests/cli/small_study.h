#pragma once

#include "cli/program.h"

namespace mirrortrain::testing {

/// A small network on data that it learns in a few epochs.
inline constexpr const char* kNet = R"(
seed: 5
data:
  global_batch_size: 16
  train: {format: synthetic, examples: 96, shape: [4], classes: 3, seed: 1}
  validation: {fraction: 0.32}
model:
  input_shape: [4]
  layers:
    - dense: {units: 8, activation: tanh}
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam, learning_rate: 0.05}
training: {epochs: 4}
logging: {report: false}
)";

inline constexpr const char* kSearch = R"(
search:
  trials: 13
  sampler: tpe
  parallel: 2
  parameters:
    optimizer.learning_rate: {min: 1.0e-3, max: 1, scale: log}
    model.layers[0].dense.units: {values: [4, 16]}
)";

/// Studies of a small network in a folder of their own.
struct SmallStudy {
  TemporaryFolder folder;
  SmallStudy() { write("net.yaml", kSearch); }

  void write(const std::string& name, const std::string& search) { write_file(folder / name, kNet + search); }
  Outcome tune(const std::string& arguments) { return run_program(folder, "tune " + arguments); }
  nlohmann::json trials(const std::string& file) { return parsed(read_text_file(folder / file)); }
  std::string bytes(const std::string& file) { return read_text_file(folder / file); }
  /// The values and results by trial, without folders.
  nlohmann::json trained(const std::string& arguments) {
    const Outcome outcome = tune(arguments + " --json trials.json -q");
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    nlohmann::json study = trials("trials.json");
    for (nlohmann::json& trial : study["trials"]) trial.erase("run");
    return study;
  }
};

}  // namespace mirrortrain::testing
