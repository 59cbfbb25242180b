// Runs that end before they are done: a limit of time, machines that are taken away.
#include <doctest/doctest.h>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::stops_test {
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
  /// A fit in the background, and what happens once its first event is written; `end` sees it as $pid.
  Outcome fit_until(const std::string& arguments, const std::string& end) {
    return run_script(folder, "\"$MIRRORTRAIN\" fit small.yaml --run-dir cut " + arguments +
                                  " & pid=$!\n"
                                  "while [ ! -s cut/metrics.jsonl ] && kill -0 $pid; do sleep 0.001; done\n" +
                                  end + "\nwait $pid");
  }
  json summary() { return parsed(read_text_file(folder / "cut" / "summary.json")); }
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

TEST_CASE_FIXTURE(StoppedRuns, "after SIGTERM training continues for the grace period, and ends with the exit code") {
  const std::string options = "--set training.epochs=100000 --set termination.exit_code=42 ";
  const Outcome outcome =
      fit_until(options + "--set termination.grace_seconds=0.5", "wc -l < cut/metrics.jsonl > before\nkill -TERM $pid");
  REQUIRE_MESSAGE(outcome.exit_code == 42, outcome.err);
  CHECK(contains(outcome.err, "SIGTERM: training continues for 0.5 s, then it ends with a checkpoint"));
  CHECK(summary()["stopped_by"] == "SIGTERM");
  // More than the step that was running.
  CHECK(std::ssize(events_of(folder / "cut/metrics.jsonl")) > std::stol(read_text_file(folder / "before")) + 2);
  const int steps = summary()["step"].get<int>() + 1;
  REQUIRE(fit(fmt::format("{} --set training.steps={} --run-dir cut --resume", options, steps)).exit_code == 0);
  REQUIRE(fit(fmt::format("{} --set training.steps={} --run-dir whole", options, steps)).exit_code == 0);
  CHECK(model("cut") == model("whole"));

  fs::remove_all(folder / "cut");
  CHECK(fit_until(options, "kill -INT $pid").exit_code == 130);
  CHECK(summary()["stopped_by"] == "SIGINT");
}

TEST_CASE_FIXTURE(StoppedRuns, "a command that ends with 0 says that the machine is taken away") {
  const std::string options =
      "--set training.epochs=100000 --set termination.watch='test -e taken' --set termination.watch_every_seconds=0.1 ";
  const Outcome outcome = fit_until(options, "touch taken");
  CHECK_MESSAGE(outcome.exit_code == 143, outcome.err);
  CHECK(contains(outcome.err, "stopped by termination.watch after step"));
  CHECK(summary()["status"] == "stopped");
  CHECK(summary()["stopped_by"] == "termination.watch");

  const Outcome again = fit(options + "--run-dir cut --resume --set termination.exit_code=75");
  CHECK_MESSAGE(again.exit_code == 75, again.err);
  fs::remove(folder / "taken");
  const int steps = summary()["step"].get<int>() + 1;
  CHECK(fit(options + fmt::format("--run-dir cut --resume --set training.steps={}", steps)).exit_code == 0);
}

TEST_CASE_FIXTURE(StoppedRuns, "a command that cannot be run is refused before anything is written") {
  const Outcome outcome = fit("--run-dir cut --set termination.watch=no-such-command-here");
  CHECK(outcome.exit_code == 2);
  CHECK_MESSAGE(contains(outcome.err, "termination.watch: expected a command that ends with exit code 0"), outcome.err);
  CHECK_MESSAGE(contains(outcome.err, "`no-such-command-here` cannot be run (exit code 127"), outcome.err);
  CHECK_FALSE(fs::exists(folder / "cut"));
}

}  // namespace
}  // namespace mirrortrain::testing::stops_test
