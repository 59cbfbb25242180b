// Pictures that preprocessing changes at random: the same in every run of a seed, whoever makes them and when.
#include <doctest/doctest.h>

#include "base/json.h"
#include "cli/program.h"

namespace mirrortrain::testing::augmented_test {
namespace {

using nlohmann::json;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// 20 pictures of 6 x 6 whole numbers: their sums are exact in any order.
std::string pictures() {
  json features = json::array(), labels = json::array();
  for (int i = 0; i < 20; ++i) {
    json picture = json::array();
    for (int y = 0; y < 6; ++y) {
      json row = json::array();
      for (int x = 0; x < 6; ++x) row.push_back((i * 53 + y * 17 + x * 29 + x * y * i) % 64);
      picture.push_back(row);
    }
    features.push_back(picture);
    labels.push_back(0);
  }
  return "{format: inline, features: " + json_text(features) + ", labels: " + json_text(labels) + "}";
}

const std::string kDrawing =
    "[random_flip, {random_crop: {height: 4, width: 4, padding: 1}}, {random_translation: {height_factor: 0.2, "
    "width_factor: 0.2}}, {random_rotation: {factor: 0.1}}, {random_contrast: {factor: 0.3}}, {rescaling: {scale: "
    "0.0625}}]";

struct Fixture {
  TemporaryFolder folder;
  Fixture() {
    const std::string data =
        "seed: 5\ndata:\n  global_batch_size: 6\n  train: " + pictures() + "\n  test: " + pictures();
    const std::string model =
        "  input_shape: [4, 4, 1]\n  layers:\n    - flatten\n"
        "    - dense: {units: 1, use_bias: false, kernel_initializer: ones}\nloss: mean_absolute_error\n";
    const std::string rest = "strategy: {devices: [cpu:0]}\nlogging: {every_steps: 1}\n";
    // Nothing is learnt: what a step's loss is, its examples alone say.
    write_file(folder / "sums.yaml",
               data + "\n  preprocessing: [random_flip, {random_crop: {height: 4, width: 4, padding: 1}}]\nmodel:\n" +
                   model + "optimizer: {type: sgd, learning_rate: 0}\ntraining: {epochs: 3}\n" + rest);
    write_file(folder / "all.yaml", data + "\n  preprocessing: " + kDrawing + "\nmodel:\n" + model +
                                        "optimizer: {type: adam, learning_rate: 0.01}\ntraining: {epochs: 3}\n" + rest);
  }
  void fit(const std::string& arguments) {
    const Outcome outcome = run_program(folder, "fit " + arguments);
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  }
  std::vector<json> events(const std::string& run) { return timeless(events_of(folder / run / "metrics.jsonl")); }
  std::string model(const std::string& run) { return read_text_file(folder / run / "model.safetensors"); }
  std::vector<double> losses(const std::string& run, const std::string& event) {
    std::vector<double> all;
    for (const json& one : events(run)) {
      if (one["event"] == event) all.push_back(one["loss"]);
    }
    return all;
  }
};

TEST_CASE_FIXTURE(Fixture, "one, two and three replicas train on the same examples, other ones in every epoch") {
  fit("sums.yaml --run-dir one");
  fit("sums.yaml --run-dir two --set strategy.devices=[cpu:0,cpu:1] --set data.threads=3");
  fit("sums.yaml --run-dir three --set strategy.devices=[cpu:0,cpu:1,cpu:2] --set data.memory=1");
  CHECK(events("one") == events("two"));
  CHECK(events("one") == events("three"));
  const std::vector<double> epochs = losses("one", "epoch");
  REQUIRE(epochs.size() == 3);
  CHECK(epochs[0] != epochs[1]);
  CHECK(epochs[1] != epochs[2]);
  fit("sums.yaml --run-dir other --set seed=6");
  CHECK(losses("other", "epoch") != epochs);
}

TEST_CASE_FIXTURE(Fixture, "an evaluation draws nothing") {
  fit("sums.yaml --run-dir drawn");
  fit("sums.yaml --run-dir plain --set 'data.preprocessing=[{resizing: {height: 4, width: 4}}]'");
  CHECK(losses("drawn", "evaluation") == losses("plain", "evaluation"));
  CHECK(losses("drawn", "epoch") != losses("plain", "epoch"));
  const Outcome train = run_program(folder, "eval drawn --split train --json train.json");
  REQUIRE(train.exit_code == 0);
  const json evaluated = parsed(read_text_file(folder / "train.json"));
  CHECK(evaluated["loss"] == losses("plain", "epoch")[0]);
}

TEST_CASE_FIXTURE(Fixture, "augmented training gives the same bits however examples are made and dealt to devices") {
  fit("all.yaml --run-dir one --set strategy.replicas=6");
  fit("all.yaml --run-dir two --set strategy.replicas=6 --set strategy.devices=[cpu:0,cpu:1] --set data.threads=1");
  fit("all.yaml --run-dir three --set strategy.replicas=6 --set strategy.devices=[cpu:0,cpu:1,cpu:2] --set "
      "data.memory=1");
  CHECK(model("one") == model("two"));
  CHECK(model("one") == model("three"));
  CHECK(events("one") == events("two"));
  CHECK(events("one") == events("three"));
}

TEST_CASE_FIXTURE(Fixture, "training that was killed in the middle of an augmented epoch is resumed to the same bits") {
  const std::string options =
      "all.yaml --set strategy.devices=[cpu:0,cpu:1] --set checkpoint.every_steps=1 --set training.epochs=12 ";
  fit(options + "--run-dir whole");
  // The third epoch has steps 9 to 12. On a busy machine it may be killed in a later one.
  run_script(folder, "\"$MIRRORTRAIN\" fit " + options +
                         "--run-dir cut & pid=$!\n"
                         "while ! ls cut/checkpoints 2> /dev/null | grep -q 'step-0000[1-4]'; do\n"
                         "  kill -0 $pid || exit 99; sleep 0.005\n"
                         "done\n"
                         "kill -KILL $pid; wait $pid");
  fit(options + "--run-dir cut --resume");
  CHECK(model("whole") == model("cut"));
  CHECK(events("whole") == events("cut"));
  fit(options + "--run-dir stopped --set training.steps=10");
  fit(options + "--run-dir stopped --resume");
  CHECK(model("whole") == model("stopped"));
}

TEST_CASE_FIXTURE(Fixture, "steps that do not fit the model or the data are told at their line") {
  const Outcome size = run_program(folder, "config check sums.yaml --set model.input_shape=[5,4,1]");
  CHECK(size.exit_code == 2);
  CHECK_MESSAGE(contains(size.err,
                         "sums.yaml:6:55: data.preprocessing[1].random_crop: gives pictures the size 4 x 4 "
                         "(height x width), but model.input_shape is [5, 4, 1]; make them the same"),
                size.err);
}

}  // namespace
}  // namespace mirrortrain::testing::augmented_test
