// Runs that end before they are done.
#include <doctest/doctest.h>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing {
namespace {

using nlohmann::json;

/// Four steps an epoch, with all that a resume must restore.
constexpr const char* kStopped = R"(
name: small
seed: 7
data:
  global_batch_size: 16
  train: {format: synthetic, examples: 75, shape: [6, 6, 2], classes: 3, seed: 1}
  validation: {fraction: 0.2}
  test: {format: synthetic, examples: 21, shape: [6, 6, 2], classes: 3, seed: 2}
model:
  input_shape: [6, 6, 2]
  layers:
    - conv2d: {filters: 5, kernel_size: 3, activation: relu}
    - batch_normalization
    - flatten
    - dropout: {rate: 0.3}
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam, learning_rate: 0.01}
training: {epochs: 2}
logging: {every_steps: 1}
)";

struct StoppedRuns {
  TemporaryFolder folder;
  StoppedRuns() { write_file(folder / "small.yaml", kStopped); }

  Outcome fit(const std::string& arguments) { return run_program(folder, "fit small.yaml " + arguments); }
  json summary() { return json::parse(read_text_file(folder / "cut" / "summary.json")); }
  std::string model(const std::string& run) { return read_text_file(folder / run / "model.safetensors"); }
};

TEST_CASE_FIXTURE(StoppedRuns, "a chain of runs that a time limit stops has the bits of one run") {
  REQUIRE(fit("--run-dir whole").exit_code == 0);
  // Each makes one step; after the last, one validates and tests.
  constexpr int kSteps = 8;
  for (int i = 1; i <= kSteps; ++i) {
    CAPTURE(i);
    const Outcome outcome = fit("--run-dir cut --resume=auto --set training.time_limit=0.001s");
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    const json stopped = summary();
    CHECK(stopped["status"] == "stopped");
    CHECK(stopped["stopped_by"] == "training.time_limit");
    CHECK(stopped["step"] == i);
    const std::string told = fmt::format("stopped by training.time_limit after step {}; its checkpoint is in cut", i);
    CHECK_MESSAGE(contains(outcome.err, told), outcome.err);
  }
  const Outcome last = fit("--run-dir cut --resume=auto --set training.time_limit=0.001s");
  REQUIRE_MESSAGE(last.exit_code == 0, last.err);
  CHECK(summary()["status"] == "done");
  CHECK_FALSE(summary().contains("stopped_by"));
  CHECK(model("cut") == model("whole"));
  CHECK(timeless(events_of(folder / "cut" / "metrics.jsonl")) ==
        timeless(events_of(folder / "whole" / "metrics.jsonl")));
}

TEST_CASE_FIXTURE(StoppedRuns, "a limit that is not reached changes nothing") {
  const Outcome outcome = fit("--run-dir cut --set training.time_limit=1d");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(summary()["status"] == "done");
  CHECK(contains(fit("--run-dir x --set training.time_limit=2:00:00").err, "write 2h"));
}

}  // namespace
}  // namespace mirrortrain::testing
