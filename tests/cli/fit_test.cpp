// What `fit` promises as a whole: reproducible bits, exact resumes, uneven batches, run folders.
#include <doctest/doctest.h>

#include <algorithm>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::fit_test {
namespace {

using nlohmann::json;

/// A network with everything that could tell replicas apart: batch normalization, dropout, regularization, short
/// batches.
constexpr const char* kConfig = R"(
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
    - conv2d: {filters: 5, kernel_size: 3, activation: relu, kernel_regularizer: {l2: 0.001}}
    - batch_normalization
    - max_pooling2d
    - flatten
    - dropout: {rate: 0.3}
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam, learning_rate: 0.01}
training: {epochs: 3}
logging: {every_steps: 1}
)";

struct Fixture {
  TemporaryFolder folder;
  Fixture() { write_file(folder / "small.yaml", kConfig); }

  Outcome fit(const std::string& arguments) { return run_program(folder, "fit small.yaml " + arguments); }
  std::string model(const std::string& run) { return read_text_file(folder / run / "model.safetensors"); }
  std::vector<json> events(const std::string& run) { return timeless(events_of(folder / run / "metrics.jsonl")); }
};

TEST_CASE_FIXTURE(Fixture, "the same configuration gives the same bits") {
  REQUIRE(fit("--run-dir a --set strategy.devices=[cpu:0,cpu:1]").exit_code == 0);
  REQUIRE(fit("--run-dir b --set strategy.devices=[cpu:0,cpu:1]").exit_code == 0);
  CHECK(model("a") == model("b"));
  CHECK(events("a") == events("b"));
}

TEST_CASE_FIXTURE(Fixture, "layers' names may have letters of any script") {
  const std::string names =
      "--set model.layers[0].conv2d.name=畳み込み --set model.layers[1]='{batch_normalization: {name: größe}}' "
      "--set 'variables=[{match: größe/moving_*, aggregation: sum}, {match: 畳*, aggregation: sum}, {match: \"*\"}]' "
      "--set strategy.devices=[cpu:0,cpu:1] ";
  const Outcome shown = run_program(folder, "config show small.yaml " + names);
  CHECK(shown.out.find("name: \"畳み込み\"") != std::string::npos);
  const Outcome plain = fit("--run-dir plain " + names + "--set training.epochs=2");
  REQUIRE_MESSAGE(plain.exit_code == 0, plain.err);
  CHECK(model("plain").find("\"畳み込み/kernel\"") != std::string::npos);
  CHECK(model("plain").find("\"größe/moving_mean\"") != std::string::npos);
  REQUIRE(fit("--run-dir plain --resume " + names).exit_code == 0);
  REQUIRE(run_program(folder, "eval plain").exit_code == 0);
  const Outcome weights = fit(
      "--run-dir other --set model.initial_weights=plain/model.safetensors --set model.layers[0].conv2d.name=畳込み");
  CHECK(weights.exit_code == 1);
  CHECK(weights.err.find("畳込み/kernel") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "four replicas give the same bits on one, two and four devices") {
  REQUIRE(fit("--run-dir one --set strategy.replicas=4 --set strategy.devices=[cpu:0]").exit_code == 0);
  REQUIRE(fit("--run-dir two --set strategy.replicas=4 --set strategy.devices=[cpu:0,cpu:1]").exit_code == 0);
  REQUIRE(fit("--run-dir four --set strategy.devices=[cpu:0,cpu:1,cpu:2,cpu:3]").exit_code == 0);
  CHECK(model("one") == model("two"));
  CHECK(model("one") == model("four"));
  CHECK(events("one") == events("two"));
  CHECK(events("one") == events("four"));
}

TEST_CASE_FIXTURE(Fixture, "a resumed run continues with the exact bits") {
  REQUIRE(fit("--run-dir whole --set checkpoint.every_steps=3 --set strategy.devices=[cpu:0,cpu:1]").exit_code == 0);
  const std::string options = "--run-dir cut --set checkpoint.every_steps=3 --set strategy.devices=[cpu:0,cpu:1]";
  REQUIRE(fit(options + " --set training.steps=6").exit_code == 0);  // within the second epoch
  REQUIRE(fit(options + " --resume").exit_code == 0);
  CHECK(model("whole") == model("cut"));
  const std::vector<json> whole = events("whole"), cut = events("cut");
  // The cut run evaluated the test set once more, when its first part ended.
  std::vector<json> without_first_test = cut;
  std::erase_if(without_first_test,
                [](const json& event) { return event["event"] == "evaluation" && event["step"] == 6; });
  CHECK(whole == without_first_test);
}

TEST_CASE_FIXTURE(Fixture, "a finished run is left as it is, and is resumed when it gets more epochs") {
  REQUIRE(fit("--run-dir a").exit_code == 0);
  const std::string before = read_text_file(folder / "a" / "metrics.jsonl");
  const Outcome again = fit("--run-dir a --resume");
  CHECK(again.exit_code == 0);
  CHECK(again.err.find("finished") != std::string::npos);
  CHECK(read_text_file(folder / "a" / "metrics.jsonl") == before);
  REQUIRE(fit("--run-dir a --resume --set training.epochs=4").exit_code == 0);
  CHECK(events("a").back()["epoch"] == 4);
}

TEST_CASE_FIXTURE(Fixture, "--resume=auto starts a run, resumes it, and leaves it as it is once it is finished") {
  REQUIRE(fit("--run-dir whole --set checkpoint.every_steps=3").exit_code == 0);
  for (const std::string where : {"--run-dir cut", ""}) {
    CAPTURE(where);
    const std::string again = where + " --resume=auto --set checkpoint.every_steps=3";
    const Outcome first = fit(again + " --set training.steps=6");
    CHECK_MESSAGE(first.exit_code == 0, first.err);
    CHECK(first.err.find("resuming from step") == std::string::npos);
    const Outcome second = fit(again);
    CHECK_MESSAGE(second.exit_code == 0, second.err);
    CHECK(second.err.find("resuming from step 6") != std::string::npos);
    CHECK(model(where.empty() ? "runs/small" : "cut") == model("whole"));
    const Outcome third = fit(again);
    CHECK(third.exit_code == 0);
    CHECK(third.err.find("the run is finished") != std::string::npos);
  }
  // A run of the name that another configuration began is passed over; a folder is not.
  const Outcome other = fit("--resume=auto --set seed=8");
  CHECK(other.exit_code == 0);
  CHECK_MESSAGE(other.err.find("--resume=auto: runs/small: seed changed since this run began: ") != std::string::npos,
                other.err);
  CHECK(fs::exists(folder / "runs" / "small-2" / "model.safetensors"));
  CHECK(fit("--run-dir cut --resume=auto --set seed=8").exit_code == 2);
  const Outcome nameless = run_program(folder, "fit --resume=auto");
  CHECK(nameless.exit_code == 2);
  CHECK_MESSAGE(nameless.err.find("CONFIG") != std::string::npos, nameless.err);
}

TEST_CASE_FIXTURE(Fixture, "a finished run that was killed while it went on is not finished") {
  REQUIRE(fit("--run-dir cut --set training.epochs=1").exit_code == 0);
  run_script(folder,
             "\"$MIRRORTRAIN\" fit small.yaml --run-dir cut --resume --set training.epochs=100000 & pid=$!\n"
             "while ! grep -q 'epochs: 100000' cut/config.yaml; do sleep 0.001; done\n"
             "kill -KILL $pid; wait $pid");
  // However far it came, it goes on; from the first epoch where no checkpoint was saved since.
  const Outcome outcome = fit("--run-dir cut --resume --set training.epochs=100000 --set training.steps=12");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.find("resuming from step") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a run whose model, data or seed changed is not resumed") {
  REQUIRE(fit("--run-dir a --set training.steps=2").exit_code == 0);
  for (const char* change :
       {"model.layers[0].conv2d.filters=6", "seed=8", "data.global_batch_size=8", "optimizer=sgd"}) {
    CAPTURE(change);
    const Outcome outcome = fit(std::string("--run-dir a --resume --set ") + change);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.err.find("changed since this run began: ") != std::string::npos);
    const std::string assignment = change, key = assignment.substr(0, assignment.find('='));
    CHECK(outcome.err.find(key) != std::string::npos);
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "what changes no result may change on a resume, and what a checkpoint replaces may be gone") {
  REQUIRE(fit("--run-dir first --set training.steps=2").exit_code == 0);
  std::filesystem::rename(folder / "first/model.safetensors", folder / "w.safetensors");
  REQUIRE(fit("--run-dir a --set training.steps=2 --set model.initial_weights=w.safetensors").exit_code == 0);
  std::filesystem::remove(folder / "w.safetensors");
  const std::string options = "--run-dir a --resume --set model.initial_weights=w.safetensors ";
  CHECK(fit(options + "--set training.steps=4 --set data.cache=host").exit_code == 0);
  CHECK(events("a").back()["step"] == 4);
}

TEST_CASE_FIXTURE(Fixture, "an error that ends a run stands in its log") {
  REQUIRE(fit("--run-dir a --set training.steps=2").exit_code == 0);
  std::filesystem::remove_all(folder / "a/checkpoints");
  write_file(folder / "a/checkpoints", "no folder");
  const Outcome outcome = fit("--run-dir a --resume --set training.steps=4");
  CHECK(outcome.exit_code == 1);
  REQUIRE(outcome.err.find("error: ") != std::string::npos);
  const std::string error = outcome.err.substr(outcome.err.find("error: ") + 7);
  const std::string log = read_text_file(folder / "a/run.log");
  CHECK(log.find("error " + error.substr(0, error.find('\n'))) != std::string::npos);
  CHECK(log.find("training.steps changed since the run began: 2 before, 4 from here on") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a damaged checkpoint is named and the one before it used") {
  REQUIRE(fit("--run-dir a --set training.steps=8 --set checkpoint.every_steps=2").exit_code == 0);
  write_file(folder / "a" / "checkpoints/step-000008/training.safetensors", "damaged");
  const Outcome outcome = fit("--run-dir a --resume --set checkpoint.every_steps=2");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.find("step-000008 is damaged") != std::string::npos);
  CHECK(outcome.err.find("using step-000006") != std::string::npos);
  REQUIRE(fit("--run-dir b --set checkpoint.every_steps=2").exit_code == 0);
  CHECK(model("a") == model("b"));
}

TEST_CASE_FIXTURE(Fixture, "with every checkpoint damaged the run is left alone") {
  REQUIRE(fit("--run-dir a --set training.steps=4 --set checkpoint.keep=1").exit_code == 0);
  write_file(folder / "a" / "checkpoints/step-000004/state.json", "{");
  const auto contents = [&] {
    return read_text_file(folder / "a/metrics.jsonl") + read_text_file(folder / "a/config.yaml");
  };
  const std::string before = contents();
  CHECK(fit("--run-dir a --resume --set optimizer.learning_rate=0.02").exit_code == 1);
  CHECK(contents() == before);
}

TEST_CASE_FIXTURE(Fixture, "a batch smaller than the replicas leaves some without examples") {
  const std::string options = " --set data.global_batch_size=2 --set training.epochs=1";
  REQUIRE(fit("--run-dir three --set strategy.devices=[cpu:0,cpu:1,cpu:2]" + options).exit_code == 0);
  CHECK(events("three").back()["step"] == 30);
}

TEST_CASE_FIXTURE(Fixture, "without batch normalization the number of replicas only rounds") {
  std::string text = kConfig;
  text.erase(text.find("    - batch_normalization\n"), std::string("    - batch_normalization\n").size());
  write_file(folder / "small.yaml", text);
  REQUIRE(fit("--run-dir one --set optimizer=sgd --set strategy.devices=[cpu:0]").exit_code == 0);
  REQUIRE(fit("--run-dir three --set optimizer=sgd --set strategy.devices=[cpu:0,cpu:1,cpu:2]").exit_code == 0);
  const std::vector<json> one = events("one"), three = events("three");
  REQUIRE(one.size() == three.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (one[i].contains("loss"))
      CHECK(three[i]["loss"].get<double>() == doctest::Approx(one[i]["loss"].get<double>()).epsilon(1e-5));
  }
}

TEST_CASE_FIXTURE(Fixture, "a run leaves the files that it promises") {
  REQUIRE(fit("").exit_code == 0);
  for (const char* file :
       {"config.yaml", "metrics.jsonl", "summary.json", "model.safetensors", "run.log", "checkpoints/step-000012"}) {
    CHECK_MESSAGE(fs::exists(folder / "runs/small" / file), file);
  }
  for (const char* sub_run : {"", "train", "validation", "test"}) {
    CHECK_MESSAGE(contains(run_script(folder, fmt::format("ls runs/small/{}", sub_run)).out, "events.out.tfevents."),
                  sub_run);
  }
  const json summary = parsed(read_text_file(folder / "runs/small/summary.json"));
  CHECK(summary["status"] == "done");
  CHECK(summary["test"]["metrics"].contains("accuracy"));
  const std::vector<json> all = events("runs/small");
  CHECK(all.back()["event"] == "end");
  CHECK(std::count_if(all.begin(), all.end(), [](const json& e) { return e["event"] == "epoch"; }) == 3);

  REQUIRE(fit("").exit_code == 0);
  CHECK(fs::exists(folder / "runs/small-2/model.safetensors"));
  CHECK(model("runs/small") == model("runs/small-2"));
}

TEST_CASE_FIXTURE(Fixture, "the resolved configuration gives the same run") {
  REQUIRE(fit("--run-dir a --set strategy.devices=[cpu:0,cpu:1]").exit_code == 0);
  REQUIRE(run_program(folder, "fit a/config.yaml --run-dir b").exit_code == 0);
  CHECK(model("a") == model("b"));
}

TEST_CASE_FIXTURE(Fixture, "a dry run tells the layers and leaves nothing behind") {
  const Outcome outcome = fit("--dry-run --set strategy.devices=[cpu:0,cpu:1]");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out.find("global batch 16 = 2 replicas x 8") != std::string::npos);
  CHECK(outcome.out.find("batch_normalization") != std::string::npos);
  CHECK(outcome.out.find("memory per replica") != std::string::npos);
  CHECK(outcome.out.find("moving statistic") != std::string::npos);
  CHECK(outcome.out.find("cross_device_ops: auto selected one_pass: 2 replicas share one memory") != std::string::npos);
  CHECK_FALSE(fs::exists(folder / "runs"));
}

TEST_CASE_FIXTURE(Fixture,
                  "a profile is a table of each replica's layers and each device's actions, and changes no weights") {
  const Outcome outcome = fit("--run-dir a --profile --by-time --json a.json --set strategy.devices=[cpu:0,cpu:1]");
  REQUIRE(outcome.exit_code == 0);
  for (const char* line : {"cpu:0: ", "\nrun layers ", "\nwait for other devices ", "cpu:1: ", "\nupdate ",
                           "replica 0: ", "replica 1: ", "\nlayer ", "\ndense "}) {
    CAPTURE(line);
    CHECK(("\n" + outcome.out).find(line) != std::string::npos);
  }
  double shares = 0, last = 0;
  bool counts_work = false;
  const json profile = parsed(read_text_file(folder / "a.json"));
  for (const json& row : profile["profile"]) {
    if (row["who"] != "replica 1") continue;
    CHECK((shares == 0 || row["ms"].get<double>() <= last));
    last = row["ms"];
    shares += row["share"].get<double>();
    counts_work = counts_work || (row["flops"] > 0 && row["bytes"] > 0);
  }
  CHECK(shares == doctest::Approx(1));
  CHECK(counts_work);
  REQUIRE(fit("--run-dir b --set strategy.devices=[cpu:0,cpu:1]").exit_code == 0);
  CHECK(model("a") == model("b"));
  CHECK(fit("--by-time").exit_code == 2);
  const Outcome alone = fit("--run-dir c --profile --json - -v");
  CHECK(parsed(alone.out).contains("profile"));  // nothing else is on stdout
}

TEST_CASE_FIXTURE(Fixture, "a run folder that holds another run is refused") {
  REQUIRE(fit("--run-dir a --set training.steps=1").exit_code == 0);
  const std::string before = read_text_file(folder / "a/metrics.jsonl");
  const Outcome outcome = fit("--run-dir a");
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.err.find("holds another run") != std::string::npos);
  CHECK(read_text_file(folder / "a/metrics.jsonl") == before);
}

TEST_CASE_FIXTURE(Fixture, "SIGTERM saves a checkpoint, and the run can be resumed to the same bits") {
  REQUIRE(fit("--run-dir whole --set training.epochs=40").exit_code == 0);
  const Outcome stopped = run_script(folder,
                                     "\"$MIRRORTRAIN\" fit small.yaml --run-dir cut --set training.epochs=40 & pid=$!\n"
                                     "while [ ! -s cut/metrics.jsonl ] && kill -0 $pid; do sleep 0.001; done\n"
                                     "kill -TERM $pid; wait $pid");
  REQUIRE(stopped.exit_code == 143);
  CHECK(events("cut").back()["status"] == "stopped");
  REQUIRE(fit("--run-dir cut --set training.epochs=40 --resume").exit_code == 0);
  CHECK(model("whole") == model("cut"));
}

TEST_CASE_FIXTURE(Fixture, "mixed precision trains") {
  REQUIRE(fit("--run-dir a --set training.precision=mixed_bfloat16 --set training.epochs=8").exit_code == 0);
  const std::vector<json> all = events("a");
  CHECK(all[all.size() - 3]["loss"].get<double>() < all[0]["loss"].get<double>());
}

}  // namespace
}  // namespace mirrortrain::testing::fit_test
