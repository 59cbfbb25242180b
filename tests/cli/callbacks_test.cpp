// Runs whose callbacks end them, change their learning rate, and keep their best epoch.
#include <doctest/doctest.h>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::callbacks_test {
namespace {

using nlohmann::json;

/// Batch normalization, dropout and short batches; training fits its few examples too well after some epochs.
constexpr const char* kConfig = R"(
seed: 5
data:
  global_batch_size: 8
  train: {format: synthetic, examples: 53, shape: [4], classes: 3, seed: 1}
  validation: {fraction: 0.32}
  test: {format: synthetic, examples: 9, shape: [4], classes: 3, seed: 2}
model:
  input_shape: [4]
  layers:
    - dense: {units: 16, activation: tanh}
    - batch_normalization: {momentum: 0.5}
    - dropout: {rate: 0.2}
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam, learning_rate: 0.05}
strategy: {devices: [cpu:0], threads_per_replica: 1}
training: {epochs: 30}
callbacks:
  - reduce_on_plateau: {factor: 0.5, patience: 2, cooldown: 1, min_learning_rate: 0.01}
  - early_stopping: {patience: 5, restore_best: true}
checkpoint: {every_steps: 2, save_best: {metric: accuracy}, keep: 100}
logging: {every_steps: 3, tensorboard: false}
)";

struct Fixture {
  TemporaryFolder folder;
  Fixture() { write_file(folder / "net.yaml", kConfig); }

  Outcome fit(const std::string& arguments) { return run_program(folder, "fit net.yaml " + arguments); }
  std::string text(const std::string& file) { return read_text_file(folder / file); }
  std::vector<json> events(const std::string& run) { return timeless(events_of(folder / run / "metrics.jsonl")); }
  std::vector<json> events(const std::string& run, const std::string& kind) {
    std::vector<json> found = events(run);
    std::erase_if(found, [&](const json& event) { return event["event"] != kind; });
    return found;
  }
  json summary(const std::string& run) {
    json summary = parsed(text(run + "/summary.json"));
    summary.erase("seconds");
    return summary;
  }
};

/// The epoch whose validation has the lowest loss, or the highest accuracy; the first of equal ones.
std::int64_t best_epoch(const std::vector<json>& epochs, bool by_accuracy) {
  const auto score = [&](const json& epoch) {
    const json& validation = epoch["validation"];
    return by_accuracy ? -validation["metrics"]["accuracy"].get<double>() : validation["loss"].get<double>();
  };
  const json* best = &epochs.front();
  for (const json& epoch : epochs) {
    if (static_cast<float>(score(epoch)) < static_cast<float>(score(*best))) best = &epoch;
  }
  return (*best)["epoch"];
}

TEST_CASE_FIXTURE(Fixture, "a run ends early with the best epoch's weights, says so, and keeps the best checkpoint") {
  const Outcome outcome = fit("--run-dir a");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const std::vector<json> epochs = events("a", "epoch");
  const std::int64_t best = best_epoch(epochs, false), last = epochs.back()["epoch"];
  REQUIRE(last < 30);
  CHECK(best > 1);
  CHECK(last == best + 5);

  const std::vector<json> told = events("a", "callback");
  REQUIRE(told.size() >= 3);
  CHECK(told.front()["callback"] == "reduce_on_plateau");
  CHECK(told.front()["learning_rate"].get<double>() == doctest::Approx(0.025));
  const json& ended = told[told.size() - 2];
  CHECK(ended["callback"] == "early_stopping");
  CHECK(ended["epoch"] == last);
  CHECK(ended["best_epoch"] == best);
  CHECK(told.back()["callback"] == "restore_best");
  CHECK(told.back()["best_epoch"] == best);
  CHECK(
      contains(outcome.err, fmt::format("epoch {}: early_stopping ends the training: validation loss has not improved "
                                        "since epoch {}",
                                        last, best)));
  CHECK(contains(outcome.err, "reduce_on_plateau sets the learning rate to 0.025"));
  CHECK(contains(outcome.err, fmt::format("the run ends with the weights of epoch {}", best)));

  // The steps after it have the lower rate; every step is in a line.
  const std::int64_t reduced_after = told.front()["step"];
  std::int64_t last_step = 0;
  for (const json& step : events("a", "step")) {
    last_step = step["step"];
    if (last_step <= reduced_after) CHECK(step["learning_rate"] == 0.05);
    if (last_step > reduced_after) CHECK(step["learning_rate"].get<double>() < 0.04);
  }
  CHECK(last_step == 5 * last);
  CHECK(events("a").back()["status"] == "done");
  CHECK(events("a").back()["step"] == 5 * last);

  const auto weights_of = [](std::int64_t epoch) {
    return fmt::format("a/checkpoints/step-{:06}/model.safetensors", 5 * epoch);
  };
  CHECK(text("a/model.safetensors") == text(weights_of(best)));
  CHECK(text("a/checkpoints/best/model.safetensors") == text(weights_of(best_epoch(epochs, true))));
  const json callbacks = summary("a")["callbacks"];
  CHECK(callbacks[0]["learning_rate"].get<double>() == told[told.size() - 3]["learning_rate"].get<double>());
  CHECK(callbacks[1]["ended_training"] == true);
  CHECK(callbacks[1]["restored"] == true);
  CHECK(callbacks[1]["best_epoch"] == best);
  CHECK(callbacks[2]["callback"] == "save_best");
  CHECK(callbacks[2]["best_epoch"] == best_epoch(epochs, true));

  const Outcome evaluated = run_program(folder, "eval a --split validation --json -");
  const json& best_scores = epochs[static_cast<std::size_t>(best - 1)]["validation"];
  CHECK(parsed(evaluated.out)["loss"].get<double>() == best_scores["loss"].get<double>());
  const Outcome of_best = run_program(folder, "eval a --checkpoint best --split validation --json -");
  CHECK(parsed(of_best.out)["step"] == 5 * best_epoch(epochs, true));
  CHECK(contains(run_program(folder, "checkpoint list a").out, "\nbest "));

  const Outcome again = fit("--run-dir a --resume");
  CHECK(again.exit_code == 0);
  CHECK(contains(again.err, "the run is finished: early_stopping ended it"));
}

TEST_CASE_FIXTURE(Fixture, "a run that is stopped and killed anywhere decides and ends as if it had not been") {
  REQUIRE(fit("--run-dir whole").exit_code == 0);
  // Within epochs, at their ends, and between the end of training and the summary.
  for (const int step : {3, 10, 22, 35}) {
    REQUIRE(fit(fmt::format("--run-dir cut{} --set training.steps={}", step == 3 ? "" : " --resume", step)).exit_code ==
            0);
  }
  REQUIRE(fit("--run-dir cut --resume").exit_code == 0);
  fs::remove(folder / "cut/summary.json");
  fs::remove_all(folder / "cut/checkpoints/best.unfinished");
  REQUIRE(fit("--run-dir cut --resume").exit_code == 0);
  const auto of_training = [&](const std::string& run) {
    std::vector<json> all = events(run);
    const std::int64_t last = all.back()["step"];
    std::erase_if(all, [&](const json& event) {  // of the ends before
      const bool ends = event["event"] == "evaluation" || event.value("callback", "") == "restore_best";
      return (ends && event["step"] != last) || event["event"] == "step";
    });
    return all;
  };
  CHECK(of_training("cut") == of_training("whole"));
  CHECK(text("cut/model.safetensors") == text("whole/model.safetensors"));
  CHECK(text("cut/checkpoints/best/model.safetensors") == text("whole/checkpoints/best/model.safetensors"));
  CHECK(summary("cut")["callbacks"] == summary("whole")["callbacks"]);
}

TEST_CASE_FIXTURE(Fixture, "a run that is killed decides and ends as if it had not been") {
  REQUIRE(fit("--run-dir whole").exit_code == 0);
  run_script(folder,
             "\"$MIRRORTRAIN\" fit net.yaml --run-dir cut 2> /dev/null &\n"
             "while [ ! -e cut/checkpoints/step-000026 ] && kill -0 $!; do :; done; kill -KILL $!; wait $!");
  REQUIRE(fit("--run-dir cut --resume").exit_code == 0);
  CHECK(events("cut") == events("whole"));
  CHECK(text("cut/model.safetensors") == text("whole/model.safetensors"));
  CHECK(text("cut/checkpoints/best/model.safetensors") == text("whole/checkpoints/best/model.safetensors"));
  CHECK(summary("cut")["callbacks"] == summary("whole")["callbacks"]);
}

TEST_CASE_FIXTURE(Fixture, "two and three replicas, and two workers, decide alike on every process") {
  const std::string simple =
      "--set 'model.layers=[{dense: {units: 16, activation: tanh}}, {dense: {units: 3}}]' "
      "--set strategy.cross_device_ops=reduction_to_one_device ";
  REQUIRE(fit("--run-dir two --set strategy.devices=[cpu:0,cpu:1] " + simple).exit_code == 0);
  REQUIRE(fit("--run-dir three --set strategy.devices=[cpu:0,cpu:1,cpu:2] " + simple).exit_code == 0);
  const Outcome workers = run_program(
      folder,
      "launch --workers 2 -- fit net.yaml --run-dir workers --set strategy.type=multi_worker_mirrored " + simple);
  REQUIRE_MESSAGE(workers.exit_code == 0, workers.err);
  CHECK(text("two/model.safetensors") == text("workers/model.safetensors"));
  CHECK(events("two", "callback") == events("workers", "callback"));
  CHECK(summary("two")["callbacks"] == summary("workers")["callbacks"]);
  CHECK(events("three", "callback").back()["callback"] == "restore_best");
  CHECK(contains(workers.err, "[worker 0] epoch "));
  CHECK_FALSE(contains(workers.err, "[worker 1] epoch "));
}

TEST_CASE_FIXTURE(Fixture, "the best weights are restored when the epochs run out, and averages do not replace them") {
  const std::string options =
      "--set training.epochs=6 --set optimizer.use_ema=true "
      "--set 'callbacks=[{early_stopping: {patience: 100, restore_best: true}}]' --set checkpoint.save_best=null ";
  REQUIRE(fit("--run-dir a " + options).exit_code == 0);
  const std::int64_t best = best_epoch(events("a", "epoch"), false);
  CHECK(text("a/model.safetensors") == text(fmt::format("a/checkpoints/step-{:06}/model.safetensors", 5 * best)));
  CHECK_FALSE(fs::exists(folder / "a/checkpoints/best"));
  REQUIRE(fit("--run-dir a --resume --set training.epochs=7 " + options).exit_code == 0);
}

TEST_CASE_FIXTURE(Fixture, "a metric with the name of the only output before it is answered with its own") {
  const Outcome outcome = run_program(folder,
                                      "config check net.yaml --set 'callbacks=[{early_stopping: {metric: "
                                      "val_score_accuracy}}]' --set model.layers[3].dense.name=score");
  CHECK(outcome.exit_code == 2);
  CHECK_MESSAGE(
      contains(outcome.err, "the model has one output, whose metrics' names have no prefix: write 'accuracy'"),
      outcome.err);
}

TEST_CASE_FIXTURE(Fixture, "a run resumes with callbacks that were added or changed, and says so") {
  REQUIRE(fit("--run-dir a --set training.epochs=2 --set callbacks=[]").exit_code == 0);
  const Outcome added = fit("--run-dir a --resume --set training.epochs=4");
  CHECK(added.exit_code == 0);
  CHECK(contains(added.err, "the callbacks changed: their history is reset"));
  CHECK(parsed(text("a/summary.json"))["callbacks"].size() == 3);
}

}  // namespace
}  // namespace mirrortrain::testing::callbacks_test
