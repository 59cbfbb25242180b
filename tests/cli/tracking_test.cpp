// What a run leaves for those who watch it: TensorBoard's files, epochs.csv, norms of gradients.
#include <doctest/doctest.h>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::tracking_test {
namespace {

constexpr const char* kTracked = R"(
name: small
seed: 7
data:
  global_batch_size: 16
  train: {format: synthetic, examples: 75, shape: [6, 6, 3], classes: 3, seed: 1}
  validation: {fraction: 0.2}
  test: {format: synthetic, examples: 21, shape: [6, 6, 3], classes: 3, seed: 2}
  preprocessing: [{random_flip: {mode: horizontal}}]
model:
  input_shape: [6, 6, 3]
  layers:
    - conv2d: {filters: 5, kernel_size: 3, activation: relu, name: stem}
    - flatten
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam, learning_rate: 0.01}
training: {epochs: 4}
logging: {every_steps: 2, csv: true, histograms: 2, gradient_histograms: 4, gradient_norms: true, images: 5}
)";

struct TrackedRuns {
  TemporaryFolder folder;
  TrackedRuns() { write_file(folder / "small.yaml", kTracked); }

  Outcome fit(const std::string& arguments) { return run_program(folder, "fit small.yaml " + arguments); }
  /// The bytes of the events of a run, or of a sub-run.
  std::string events(const fs::path& run) {
    std::string all;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder / run.string())) {
      if (entry.path().filename().string().starts_with("events.out.tfevents")) all += read_text_file(entry.path());
    }
    return all;
  }
  static std::ptrdiff_t count(const std::string& text, const std::string& part) {
    std::ptrdiff_t number = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++number;
    return number;
  }
  std::string csv(const std::string& run) { return read_text_file(folder / run / "epochs.csv"); }
};

TEST_CASE_FIXTURE(TrackedRuns, "a run leaves what its section logging asks for") {
  const Outcome outcome = fit("--run-dir a");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const std::string own = events("a"), train = events("a/train"), test = events("a/test");
  CHECK(contains(own, "global_batch_size: 16\n"));
  CHECK(contains(own, "_output_shapes"));
  CHECK(count(own, "gradient_norm/stem") == 8);
  CHECK(count(train, "stem/kernel/histogram") == 2);
  CHECK(count(train, "dense/bias/gradient_histogram") == 1);
  CHECK(count(train, "\x89PNG") == 5);
  CHECK(count(test, "\x89PNG") == 5);
  CHECK(contains(test, "| 5 | "));
  CHECK(contains(csv("a"), "epoch,accuracy,loss,val_accuracy,val_loss\n1,"));
  CHECK(count(csv("a"), "\n") == 5);
  const nlohmann::json step = events_of(folder / "a/metrics.jsonl").front();
  CHECK(step["gradient_norms"].size() == 2);
  CHECK(step["gradient_norm"] > step["gradient_norms"]["stem"]);
}

TEST_CASE_FIXTURE(TrackedRuns, "a resumed run continues in the same files without doubles") {
  REQUIRE(fit("--run-dir whole").exit_code == 0);
  // Stopped within the third epoch, and begun again from the second's checkpoint.
  REQUIRE(fit("--run-dir cut --set training.steps=10").exit_code == 0);
  fs::remove_all(folder / "cut/checkpoints/step-000010");
  fs::remove(folder / "cut/summary.json");
  const Outcome resumed = fit("--run-dir cut --resume");
  REQUIRE_MESSAGE(resumed.exit_code == 0, resumed.err);
  CHECK(contains(resumed.err, "resuming from step 8"));
  CHECK(csv("cut") == csv("whole"));
  CHECK(count(events("cut"), "_output_shapes") == count(events("whole"), "_output_shapes"));
  CHECK(count(events("cut"), "global_batch_size: 16\n") == 2);
  CHECK(count(events("cut/train"), "\x89PNG") == 5);
  std::vector<nlohmann::json> whole = timeless(events_of(folder / "whole/metrics.jsonl"));
  CHECK(timeless(events_of(folder / "cut/metrics.jsonl")) == whole);
}

TEST_CASE_FIXTURE(TrackedRuns, "a run that logs nothing more has the same weights, and none of it in its files") {
  REQUIRE(fit("--run-dir a").exit_code == 0);
  REQUIRE(fit("--run-dir b --set 'logging={every_steps: 2}'").exit_code == 0);
  CHECK(read_text_file(folder / "a/model.safetensors") == read_text_file(folder / "b/model.safetensors"));
  CHECK_FALSE(fs::exists(folder / "b/epochs.csv"));
  CHECK_FALSE(contains(events("b/train"), "histogram"));
  CHECK_FALSE(contains(events("b") + events("b/test"), "gradient_norm/"));
  CHECK_FALSE(events_of(folder / "b/metrics.jsonl").front().contains("gradient_norm"));
}

TEST_CASE_FIXTURE(TrackedRuns, "what cannot be logged is refused with the reason") {
  const auto refused = [&](const std::string& overrides, const std::string& message) {
    const Outcome outcome = run_program(folder, "config check small.yaml " + overrides);
    CAPTURE(overrides);
    CHECK(outcome.exit_code == 2);
    CHECK_MESSAGE(contains(outcome.err, message), outcome.err);
  };
  refused("--set logging.tensorboard=false",
          "histograms: it is written into TensorBoard's files; leave out tensorboard: false");
  refused("--set optimizer.type=lamb", "lamb writes the direction of a step in place of its gradient");
  refused("--set optimizer.clipnorm=1", "gradients.clip_norm, over all of them, does not");
  refused("--set strategy.type=parameter_server", "no task of parameter_server has the gradient of a whole step");
  refused(
      "--set 'data.train.shape=[108]' --set 'data.test.shape=[108]' --set data.preprocessing=[] "
      "--set 'model.input_shape=[108]' --set 'model.layers=[{dense: {units: 3}}]'",
      "expected an input of the model that is a picture");
}

}  // namespace
}  // namespace mirrortrain::testing::tracking_test
