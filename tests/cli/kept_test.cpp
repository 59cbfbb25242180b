// What a run keeps, whatever happens to it: kills, damage, full disks, two processes, numbers that are not finite.
#include <doctest/doctest.h>

#include <algorithm>

#include "cli/program.h"

namespace mirrortrain::testing::kept_test {
namespace {

using nlohmann::json;

constexpr const char* kConfig = R"(
name: small
seed: 7
data:
  global_batch_size: 8
  train: {format: synthetic, examples: 32, shape: [4], classes: 3, seed: 1}
  validation: {format: synthetic, examples: 8, shape: [4], classes: 3, seed: 3}
  test: {format: synthetic, examples: 8, shape: [4], classes: 3, seed: 2}
model:
  input_shape: [4]
  layers:
    - dense: {units: 5, activation: relu}
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam, learning_rate: 0.01}
strategy: {devices: [cpu:0]}
training: {epochs: 3}
logging: {every_steps: 1}
)";

struct Fixture {
  TemporaryFolder folder;
  Fixture() { write_file(folder / "small.yaml", kConfig); }

  Outcome fit(const std::string& arguments) { return run_program(folder, "fit small.yaml " + arguments); }
  std::string text(const std::string& file) { return read_text_file(folder / file); }
  std::vector<json> events(const std::string& run) { return timeless(events_of(folder / run / "metrics.jsonl")); }
  json summary(const std::string& run) {
    json summary = parsed(text(run + "/summary.json"));
    summary.erase("seconds");
    return summary;
  }
  std::vector<std::string> checkpoints(const std::string& run) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder / run / "checkpoints")) {
      names.push_back(entry.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }
  void cut(const std::string& file, std::size_t bytes) {
    std::string shorter = text(file);
    shorter.resize(bytes);
    write_file(folder / file, shorter);
  }
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE_FIXTURE(Fixture, "sums that are not finite are saved and read back") {
  const std::string options =
      "--run-dir a --set training.on_non_finite=ignore --set 'optimizer={type: sgd, learning_rate: 1e30}' ";
  REQUIRE(fit(options + "--set training.epochs=1").exit_code == 0);
  const Outcome resumed = fit(options + "--resume --set training.epochs=2");
  CHECK(resumed.exit_code == 0);
  CHECK(contains(resumed.err, "resuming from step 4"));
}

TEST_CASE_FIXTURE(Fixture, "every flipped bit of state.json is found, and the checkpoint is set aside") {
  REQUIRE(fit("--run-dir a --set checkpoint.every_steps=2 --set training.steps=4").exit_code == 0);
  std::string state = text("a/checkpoints/step-000004/state.json");
  // One process for each is too slow for all of them here; the unit test takes every bit.
  const std::size_t place = state.find("\"updates\": ") + std::string("\"updates\": ").size();
  state[place] ^= 1;
  write_file(folder / "a/checkpoints/step-000004/state.json", state);
  const Outcome resumed = fit("--run-dir a --resume --set training.steps=6");
  CHECK(resumed.exit_code == 0);
  CHECK(contains(resumed.err, "step-000004 is damaged: state.json does not match its checksum"));
  CHECK(contains(resumed.err, "using step-000002 instead"));
  CHECK(std::ranges::count(checkpoints("a"), "step-000004.damaged") == 1);
}

TEST_CASE_FIXTURE(Fixture, "a checkpoint under another's name is not taken for it") {
  REQUIRE(fit("--run-dir a --set checkpoint.every_steps=2 --set training.steps=4").exit_code == 0);
  fs::rename(folder / "a/checkpoints/step-000002", folder / "a/checkpoints/step-000009");
  const Outcome resumed = fit("--run-dir a --resume --set training.steps=6");
  CHECK(resumed.exit_code == 0);
  CHECK(contains(resumed.err, "step-000009 is damaged: state.json is of step 2"));
  CHECK(contains(resumed.err, "using step-000004 instead"));
}

TEST_CASE_FIXTURE(Fixture, "a checkpoint that cannot be read is neither damaged nor removed") {
  REQUIRE(fit("--run-dir a --set checkpoint.every_steps=2 --set training.steps=4").exit_code == 0);
  const std::vector<std::string> before = checkpoints("a");
  // A folder in a file's place: reading fails, whoever the user is.
  const std::string file = "a/checkpoints/step-000004/training.safetensors";
  fs::rename(folder / file, folder / "kept");
  fs::create_directory(folder / file);
  const Outcome resumed = fit("--run-dir a --resume --set training.steps=6");
  CHECK(resumed.exit_code == 1);
  CHECK(contains(resumed.err, "Is a directory"));
  CHECK(checkpoints("a") == before);
  fs::remove(folder / file);
  fs::rename(folder / "kept", folder / file);
  CHECK(fit("--run-dir a --resume --set training.steps=6").exit_code == 0);
}

TEST_CASE_FIXTURE(Fixture,
                  "files that may not grow further, as on a full disk, end the run, and a resume continues it") {
  // A checkpoint's weights are larger than 16 KiB, a file of 8 or 16 KiB (a shell counts in 512 or 1024 bytes) holds
  // the configuration and some steps' events.
  const std::string wide = " --set 'model.layers=[{dense: {units: 600}}, {dense: {units: 3}}]' --set training.steps=";
  const std::string program = "\"$MIRRORTRAIN\" fit small.yaml --set checkpoint.every_steps=2" + wide;
  REQUIRE(run_script(folder, program + "8 --run-dir whole").exit_code == 0);
  const Outcome first = run_script(folder, "ulimit -f 16; " + program + "8 --run-dir a");
  CHECK(first.exit_code == 1);
  CHECK_MESSAGE(contains(first.err, "File too large; no checkpoint was saved yet"), first.err);
  CHECK(checkpoints("a").empty());
  CHECK(run_script(folder, program + "4 --run-dir a --resume").exit_code == 0);
  const Outcome second = run_script(folder, "ulimit -f 16; " + program + "8 --run-dir a --resume");
  CHECK(second.exit_code == 1);
  CHECK_MESSAGE(contains(second.err, "the last checkpoint is a/checkpoints/step-000004"), second.err);
  // The log, which is full first, hides nothing.
  const std::string log = text("a/run.log");
  const Outcome third =
      run_script(folder, "head -c 20000 /dev/zero >> a/run.log; ulimit -f 16; " + program + "8 --run-dir a --resume");
  CHECK(third.exit_code == 1);
  CHECK_MESSAGE(contains(third.err, "the last checkpoint is a/checkpoints/step-000004"), third.err);
  const std::size_t warning = third.err.find("warning: the log is incomplete: ");
  CHECK(warning != std::string::npos);
  CHECK(warning == third.err.rfind("warning: the log is incomplete: "));
  write_file(folder / "a/run.log", log);
  CHECK(run_script(folder, program + "8 --run-dir a --resume").exit_code == 0);
  CHECK(text("a/model.safetensors") == text("whole/model.safetensors"));
}

TEST_CASE_FIXTURE(Fixture, "with too few open files allowed nothing is lost") {
  REQUIRE(fit("--run-dir whole --set training.steps=6").exit_code == 0);
  REQUIRE(fit("--run-dir a --set checkpoint.every_steps=2 --set training.steps=4").exit_code == 0);
  bool failed = false;
  for (int files = 3; files < 24; ++files) {
    CAPTURE(files);
    const Outcome resumed =
        run_script(folder, fmt::format("ulimit -n {}; \"$MIRRORTRAIN\" fit small.yaml --run-dir a --resume --set "
                                       "training.steps=6 --set checkpoint.every_steps=2",
                                       files));
    if (resumed.exit_code == 0) break;
    failed = true;
    for (const std::string& name : checkpoints("a")) CHECK_FALSE(contains(name, "damaged"));
    CHECK(fs::exists(folder / "a/checkpoints/step-000004/state.json"));
  }
  CHECK(failed);
  fit("--run-dir a --resume --set training.steps=6");
  CHECK(text("a/model.safetensors") == text("whole/model.safetensors"));
}

TEST_CASE_FIXTURE(Fixture, "one process at a time trains in a run folder") {
  const Outcome both = run_script(folder,
                                  "\"$MIRRORTRAIN\" fit small.yaml --run-dir a --set training.epochs=100000 & pid=$!\n"
                                  "while [ ! -s a/metrics.jsonl ] && kill -0 $pid; do sleep 0.01; done\n"
                                  "\"$MIRRORTRAIN\" fit small.yaml --run-dir a --resume 2> second; second=$?\n"
                                  "\"$MIRRORTRAIN\" fit small.yaml --run-dir a 2>> second\n"
                                  "kill -TERM $pid; wait $pid; echo $pid > pid; exit $second");
  CHECK(both.exit_code == 2);
  const std::string pid = text("pid");
  CHECK(contains(text("second"), "a: process " + pid.substr(0, pid.size() - 1) + " on "));
  CHECK_FALSE(fs::exists(folder / "a/run.lock"));
  const std::vector<json> all = events("a");
  std::int64_t steps = 0;
  for (const json& event : all) {
    if (event["event"] == "step") CHECK(event["step"] == ++steps);
  }
  CHECK(all.back()["status"] == "stopped");
}

TEST_CASE_FIXTURE(Fixture, "a process whose run.lock was removed leaves the folder to the one that came since") {
  const Outcome both = run_script(folder, R"(
program="$MIRRORTRAIN fit small.yaml --run-dir a --set training.epochs=1000000 --set checkpoint.every_steps=2"
$program 2> first & first=$!
while ! ls a/checkpoints/step-?????? > /dev/null 2>&1; do sleep 0.01; done
kill -STOP $first; rm a/run.lock
$program --resume & second=$!
while [ ! -s a/run.lock ] && kill -0 $second; do sleep 0.01; done; sleep 0.2
kill -CONT $first; wait $first; echo $? > code; echo $second > pid
lines=$(wc -l < a/metrics.jsonl); while [ $(wc -l < a/metrics.jsonl) -le $lines ]; do sleep 0.01; done
kill -TERM $second; wait $second)");
  CHECK(both.exit_code == 143);
  CHECK(text("code") == "1\n");
  const std::string pid = text("pid");
  CHECK_MESSAGE(contains(text("first"),
                         "error: a/run.lock was removed or replaced while this process trained in the "
                         "folder, and process " +
                             pid.substr(0, pid.size() - 1) + " on "),
                text("first"));
  const std::vector<json> all = events("a");
  std::int64_t steps = 0;
  for (const json& event : all) {
    if (event["event"] == "step") CHECK(event["step"] == ++steps);
    if (event["event"] == "end") CHECK(event["status"] == "stopped");
  }
}

TEST_CASE_FIXTURE(Fixture, "a killed process keeps no run folder") {
  run_script(folder,
             "\"$MIRRORTRAIN\" fit small.yaml --run-dir a --set training.epochs=100000 & pid=$!\n"
             "while [ ! -s a/metrics.jsonl ] && kill -0 $pid; do sleep 0.01; done\n"
             "kill -KILL $pid; wait $pid");
  CHECK(fs::exists(folder / "a/run.lock"));
  CHECK(fit("--run-dir a --resume --set training.steps=1").exit_code == 0);
  CHECK_FALSE(fs::exists(folder / "a/run.lock"));
}

TEST_CASE_FIXTURE(Fixture, "processes that start at the same time get run folders of their own") {
  const Outcome all = run_script(folder,
                                 "for i in 1 2 3 4; do \"$MIRRORTRAIN\" fit small.yaml & pids=\"$pids $!\"; done\n"
                                 "for pid in $pids; do wait $pid || exit 1; done");
  CHECK(all.exit_code == 0);
  for (const char* run : {"runs/small", "runs/small-2", "runs/small-3", "runs/small-4"}) {
    CAPTURE(run);
    CHECK(events(run).back()["status"] == "done");
    CHECK(summary(run)["step"] == 12);
  }
}

TEST_CASE_FIXTURE(Fixture, "a folder that a kill left without its first config.yaml is free") {
  fs::create_directory(folder / "a");
  write_file(folder / "a/run.lock", "{\"pid\": 1}");
  write_file(folder / "a/config.yaml.1-1.tmp", "name: sm");
  CHECK(fit("--run-dir a").exit_code == 0);
  CHECK_FALSE(fs::exists(folder / "a/config.yaml.1-1.tmp"));
}

TEST_CASE_FIXTURE(Fixture, "events that were lost before the checkpoint are missed") {
  REQUIRE(fit("--run-dir a").exit_code == 0);
  cut("a/metrics.jsonl", text("a/metrics.jsonl").find("\"step\": 3,"));
  const Outcome resumed = fit("--run-dir a --resume --set training.epochs=4");
  CHECK(resumed.exit_code == 0);
  CHECK(contains(resumed.err, "metrics.jsonl: 13 events from before step-000012 are missing"));
}

TEST_CASE_FIXTURE(Fixture, "a kill after the final test neither doubles nor loses anything") {
  REQUIRE(fit("--run-dir whole").exit_code == 0);
  REQUIRE(fit("--run-dir cut").exit_code == 0);
  fs::remove(folder / "cut/summary.json");
  SUBCASE("before the weights") {
    fs::remove(folder / "cut/model.safetensors");
    const std::string all = text("cut/metrics.jsonl");
    cut("cut/metrics.jsonl", all.find("{\"event\": \"end\""));
  }
  SUBCASE("before the summary") {}
  REQUIRE(fit("--run-dir cut --resume").exit_code == 0);
  CHECK(events("cut") == events("whole"));
  CHECK(summary("cut") == summary("whole"));
  CHECK(text("cut/model.safetensors") == text("whole/model.safetensors"));
}

TEST_CASE_FIXTURE(Fixture, "a run folder that is moved while training ends the run and is not made again") {
  const Outcome moved =
      run_script(folder, "\"$MIRRORTRAIN\" fit small.yaml --run-dir a --set training.epochs=100000 & pid=$!\n" +
                             until_checkpoint("a") + "mv a b; wait $pid");
  CHECK(moved.exit_code == 1);
  CHECK_MESSAGE(contains(moved.err, "moved, removed or replaced"), moved.err);
  CHECK_FALSE(contains(moved.err, "no checkpoint was saved yet"));
  CHECK_FALSE(fs::exists(folder / "a"));
  CHECK(fit("--run-dir b --resume --set training.epochs=1").exit_code == 0);
}

TEST_CASE_FIXTURE(Fixture, "eval takes no damaged weights") {
  REQUIRE(fit("--run-dir a").exit_code == 0);
  for (const char* file : {"a/checkpoints/step-000012/model.safetensors", "a/model.safetensors"}) {
    std::string weights = text(file);
    weights[weights.size() - 2] ^= 4;
    write_file(folder / file, weights);
  }
  const Outcome checkpoint = run_program(folder, "eval a --checkpoint a/checkpoints/step-000012");
  CHECK(checkpoint.exit_code == 1);
  CHECK(contains(checkpoint.err, "model.safetensors does not match its checksum"));
  const Outcome run = run_program(folder, "eval a");
  CHECK(run.exit_code == 1);
  CHECK(contains(run.err, "a/model.safetensors does not match its checksum in summary.json"));
}

TEST_CASE_FIXTURE(Fixture, "a run that is past its new limit ends where it is") {
  REQUIRE(fit("--run-dir a --set training.steps=6").exit_code == 0);
  const Outcome resumed = fit("--run-dir a --resume --set training.epochs=1");
  CHECK(resumed.exit_code == 0);
  CHECK(events("a").back()["step"] == 6);
}

TEST_CASE_FIXTURE(Fixture, "a run is named once") {
  REQUIRE(fit("--run-dir a").exit_code == 0);
  const Outcome outcome = fit("--resume a --run-dir b");
  CHECK(outcome.exit_code == 2);
  CHECK(contains(outcome.err, "--resume a and --run-dir b"));
}

TEST_CASE_FIXTURE(Fixture, "other data under the same name is refused") {
  const auto use = [&](const char* labels) {
    write_file(folder / "train.csv", std::string("a,b,c,d,y\n1,2,3,4,0\n5,6,7,8,1\n9,1,2,3,") + labels + "\n");
  };
  const std::string options = "--run-dir a --set 'data.train={format: csv, file: train.csv, labels: y}' ";
  use("2");
  REQUIRE(fit(options + "--set training.steps=2").exit_code == 0);
  use("1");
  const std::string log = read_text_file(folder / "a/run.log");
  const Outcome resumed = fit(options + "--resume --set training.steps=4");
  CHECK(resumed.exit_code == 2);
  CHECK(contains(resumed.err, "the data for training or validation changed"));
  CHECK_FALSE_MESSAGE(contains(resumed.err, "run folder:"), resumed.err);
  CHECK(read_text_file(folder / "a/run.log") == log);  // nothing of the run is touched
  const Outcome finished = fit(options + "--resume --set training.steps=2");
  CHECK(finished.exit_code == 2);
  CHECK_MESSAGE(contains(finished.err, "give the run its data again, or start a new run without --resume"),
                finished.err);
  CHECK(read_text_file(folder / "a/run.log") == log);
}

TEST_CASE_FIXTURE(Fixture, "other data for validation under the same name are refused") {
  const auto use = [&](const char* label) {
    write_file(folder / "test.csv", std::string("a,b,c,d,y\n1,2,3,4,0\n5,6,7,8,") + label + "\n");
  };
  write_file(folder / "train.csv", "a,b,c,d,y\n1,2,3,4,0\n5,6,7,8,1\n9,1,2,3,2\n");
  const std::string options =
      "--run-dir a --set 'data.train={format: csv, file: train.csv, labels: y}' "
      "--set 'data.validation={format: csv, file: test.csv, labels: y}' ";
  use("1");
  REQUIRE(fit(options + "--set training.steps=2").exit_code == 0);
  use("2");
  const Outcome resumed = fit(options + "--resume --set training.steps=4");
  CHECK(resumed.exit_code == 2);
  CHECK_MESSAGE(contains(resumed.err, "the data for training or validation changed"), resumed.err);
}

TEST_CASE_FIXTURE(Fixture,
                  "a pipe among a run's files is named by whatever command meets it, and nothing waits for it") {
  REQUIRE(fit("--run-dir a --set training.epochs=1").exit_code == 0);
  const auto with_pipe = [&](const std::string& name, const std::string& command) {
    return run_script(folder, fmt::format("mv a/{0} kept && mkfifo a/{0} && timeout 20 \"$MIRRORTRAIN\" {1}; code=$?\n"
                                          "mv -f kept a/{0}; exit $code",
                                          name, command));
  };
  for (const char* name : {"metrics.jsonl", "summary.json", "model.safetensors", "run.log"}) {
    CAPTURE(name);
    const Outcome outcome = with_pipe(name, "fit --resume a --set training.epochs=2");
    CHECK(outcome.exit_code == 2);
    CHECK(contains(outcome.err, fmt::format("a/{}: expected a file, found a pipe or a device; remove it", name)));
  }
  const std::string state = "checkpoints/step-000004/state.json";
  for (const char* command : {"fit --resume a --set training.epochs=2", "eval a/checkpoints/step-000004"}) {
    const Outcome outcome = with_pipe(state, command);
    CHECK(outcome.exit_code == 1);
    CHECK(contains(outcome.err, "expected a file, found a pipe or a device"));
  }
  CHECK(with_pipe(state, "checkpoint list a").exit_code == 1);
  for (const char* command : {"fit --resume a", "fit --run-dir a --resume", "eval a", "checkpoint list a"}) {
    CAPTURE(command);
    CHECK(with_pipe("config.yaml", command).exit_code == 2);
  }
  for (const char* name : {"config.yaml", "metrics.jsonl", "run.log"}) CHECK(with_pipe(name, "runs .").exit_code == 0);
  CHECK(fit("--run-dir a --resume --set training.epochs=2").exit_code == 0);
}

TEST_CASE_FIXTURE(Fixture, "what changed on a resume is told as it stands in the file") {
  REQUIRE(fit("--run-dir a --set training.epochs=1").exit_code == 0);
  const Outcome outcome =
      fit("--run-dir a --resume --set training.epochs=2 --set 'callbacks=[{early_stopping: {patience: 3}}]' "
          "--set 'optimizer.learning_rate={schedule: exponential_decay, initial_learning_rate: 0.01, decay_steps: 10, "
          "decay_rate: 0.5}'");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK_MESSAGE(contains(outcome.err,
                         "optimizer.learning_rate changed since the run began: 0.01 before, {schedule: "
                         "exponential_decay, initial_learning_rate: 0.01"),
                outcome.err);
  CHECK_MESSAGE(contains(outcome.err, "callbacks[0] changed since the run began: absent before, {early_stopping: {"),
                outcome.err);
}

TEST_CASE_FIXTURE(Fixture, "checkpoints are listed and checked") {
  REQUIRE(fit("--set checkpoint.every_steps=2 --set training.steps=6").exit_code == 0);
  const Outcome listed = run_program(folder, "checkpoint list small");
  CHECK(listed.exit_code == 0);
  CHECK(contains(listed.out, "step-000006"));
  CHECK(run_program(folder, "checkpoint check runs/small").exit_code == 0);
  fs::remove(folder / "runs/small/checkpoints/step-000004/model.safetensors");
  const Outcome checked = run_program(folder, "checkpoint check small");
  CHECK(checked.exit_code == 1);
  CHECK(contains(checked.out, "step-000004     damaged: model.safetensors is missing"));
  CHECK(contains(checked.out, "step-000006     whole"));
  CHECK(run_program(folder, "checkpoint list none").exit_code == 2);
  write_file(folder / "runs/small/checkpoints/step-000002/state.json", "{");
  const Outcome unreadable = run_program(folder, "checkpoint list small");
  CHECK(unreadable.exit_code == 1);
  CHECK(contains(unreadable.out, "step-000002     "));
  CHECK(contains(unreadable.out, "step-000006     "));
}

TEST_CASE_FIXTURE(Fixture, "a loss that is not finite ends the run, and the checkpoint to go back to is kept") {
  const Outcome outcome =
      fit("--run-dir a --set training.epochs=50 --set checkpoint.every_steps=1 --set 'optimizer={type: sgd, "
          "learning_rate: {schedule: cosine_decay, initial_learning_rate: 0.01, decay_steps: 100, warmup_target: 1e38, "
          "warmup_steps: 10}}'");
  CHECK(outcome.exit_code == 3);
  CHECK(contains(outcome.err, "the loss is "));
  CHECK(contains(outcome.err, "the largest input of its batch is"));
  CHECK(contains(outcome.err, "from which `fit --resume` continues"));
  CHECK(contains(text("a/run.log"), "from which `fit --resume` continues"));
  CHECK(run_program(folder, "checkpoint check a").exit_code == 0);
  CHECK_FALSE(contains(run_program(folder, "checkpoint list a").out, "NaN"));
  CHECK(events("a").back()["status"] == "failed");
}

TEST_CASE_FIXTURE(Fixture, "a loss of validation or test that is not finite ends the run, unless it is ignored") {
  for (const std::string split : {"validation", "test"}) {
    CAPTURE(split);
    const std::string options = "--run-dir " + split + " --set data." + split +
                                "='{format: inline, features: [[1, 2, 3, 4], [3e38, -3e38, 3e38, 3e38]], "
                                "labels: [0, 1]}' --set training.on_non_finite=";
    for (const std::string setting : {"stop", "skip"}) {
      fs::remove_all(folder / split);
      const Outcome outcome = fit(options + setting);
      CHECK(outcome.exit_code == 3);
      CHECK(contains(outcome.err, split == "test" ? "epoch 3: the test loss after step 12 is "
                                                  : "epoch 1: the validation loss after step 4 is "));
      CHECK(contains(outcome.err, "the largest input of the " + split + " data is 3e+38, in "));
      CHECK(contains(outcome.err, "on_non_finite: ignore continues"));
      CHECK(events(split).back()["status"] == "failed");
      CHECK_FALSE(fs::exists(folder / split / "model.safetensors"));
    }
    fs::remove_all(folder / split);
    CHECK(fit(options + "ignore").exit_code == 0);
    CHECK(events(split).back()["status"] == "done");
  }
}

TEST_CASE_FIXTURE(Fixture, "a run that ignored numbers that are not finite goes back to its last finite checkpoint") {
  const std::string ignoring =
      "--run-dir a --set training.epochs=2 --set checkpoint.every_steps=1 --set "
      "training.on_non_finite=ignore --set checkpoint.keep=2 --set 'optimizer={type: sgd, "
      "learning_rate: {schedule: piecewise_constant, boundaries: [3], values: [0.01, 1e38]}}'";
  REQUIRE(fit(ignoring).exit_code == 0);
  REQUIRE(contains(run_program(folder, "checkpoint list a").out, "NaN"));
  const Outcome back =
      fit("--run-dir a --resume --set training.epochs=3 --set checkpoint.every_steps=1 --set "
          "'optimizer={type: sgd, learning_rate: 0.01}'");
  CHECK(contains(back.err, "using step-0000"));
  CHECK(contains(back.err, "has NaN or infinite values, with which training.on_non_finite: stop cannot continue"));
  CHECK(contains(back.err, ".not-finite"));
  CHECK_FALSE(contains(run_program(folder, "checkpoint list a").out, "NaN"));
}

TEST_CASE_FIXTURE(Fixture, "optimizer slots that overflow end the run before they are saved") {
  write_file(folder / "large.yaml", R"(
data: {global_batch_size: 2, train: {format: inline, features: [[1.0e10], [1.0e10]], labels: [[1.0e10], [1.0e10]]}}
model: {input_shape: [1], layers: [{dense: {units: 1, kernel_initializer: zeros}}]}
loss: {type: mean_squared_error}
optimizer: {type: rmsprop, learning_rate: 0.001}
strategy: {type: one_device, devices: [cpu:0]}
checkpoint: {every_steps: 1}
training: {epochs: 3}
)");
  for (const std::string type : {"rmsprop", "adagrad", "adadelta", "adam", "adamw", "nadam", "lamb", "ftrl"}) {
    CAPTURE(type);
    fs::remove_all(folder / "a");
    const std::string run = "fit large.yaml --run-dir a --set optimizer.type=" + type;
    const Outcome stopped = run_program(folder, run);
    CHECK(stopped.exit_code == 3);
    CHECK_MESSAGE(contains(stopped.err, "step 1 (epoch 1): the update is not finite; "), stopped.err);
    CHECK_MESSAGE(contains(stopped.err, "dense/kernel has values that are not finite after step 1"), stopped.err);
    CHECK(contains(stopped.err, "the optimizer's ") == (type != "ftrl"));  // whose weights overflow with its slots
    CHECK_MESSAGE(contains(stopped.err, "no checkpoint was saved yet"), stopped.err);
    fs::remove_all(folder / "a");
    REQUIRE(run_program(folder, run + " --set training.on_non_finite=ignore").exit_code == 0);
    const Outcome resumed =
        run_program(folder, "fit a/config.yaml --resume a --set training.on_non_finite=stop --set training.epochs=4");
    CHECK(resumed.exit_code == 1);
    CHECK_MESSAGE(contains(resumed.err, "--set training.on_non_finite=ignore"), resumed.err);
  }
  for (const std::string type : {"sgd", "lion", "adamax"}) {
    CAPTURE(type);
    fs::remove_all(folder / "a");
    const std::string run = "fit large.yaml --run-dir a --set optimizer.type=" + type;
    CHECK(run_program(folder, run + " --set optimizer.learning_rate=1e-30").exit_code == 0);
    CHECK(
        run_program(folder, run + " --resume --set optimizer.learning_rate=1e-30 --set training.epochs=4").exit_code ==
        0);
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "one number that changed anywhere in the data keeps a run from being resumed, a new time does not") {
  constexpr std::size_t kRows = 50'000, kColumns = 20;  // 4 MB
  const auto npy = [](const std::string& shape, std::size_t count, const auto& number) {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
    header.resize(117, ' ');
    std::string file = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(118) + '\0' + header + "\n";
    for (std::size_t i = 0; i < count; ++i) {
      const float value = number(i);
      file.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    return file;
  };
  const auto write_features = [&](std::size_t changed) {
    write_file(folder / "x.npy", npy("(50000, 20)", kRows * kColumns, [&](std::size_t i) {
                 return static_cast<float>(i % 97) * 0.01f + (i == changed ? 1e-6f : 0.0f);
               }));
  };
  constexpr std::size_t kNone = kRows * kColumns;
  write_features(kNone);
  write_file(folder / "y.npy", npy("(50000, 1)", kRows, [](std::size_t i) { return static_cast<float>(i % 3); }));
  write_file(folder / "large.yaml", R"(
data: {global_batch_size: 5000, train: {format: npy, features: x.npy, labels: y.npy}}
model: {input_shape: [20], layers: [dense: {units: 1}]}
loss: mean_squared_error
optimizer: {type: sgd, learning_rate: 0.001}
strategy: {type: one_device, devices: [cpu:0]}
)");
  REQUIRE(run_program(folder, "fit large.yaml --run-dir a").exit_code == 0);
  const std::string resume = "fit large.yaml --run-dir a --resume --set training.epochs=";
  for (const std::size_t changed : {kNone / 2, std::size_t{270'000}, kNone - 1}) {
    CAPTURE(changed);
    write_features(changed);
    const Outcome outcome = run_program(folder, resume + "2");
    CHECK(outcome.exit_code == 2);
    CHECK_MESSAGE(contains(outcome.err, "data.train: the data for training or validation changed since step-000010"),
                  outcome.err);
  }
  write_features(kNone);
  CHECK(run_program(folder, resume + "2").exit_code == 0);
}

TEST_CASE_FIXTURE(Fixture, "a state variable that overflows ends the run before it is saved") {
  write_file(folder / "state.yaml", R"(
data: {global_batch_size: 1, train: {format: inline, features: [[1], [2], [3]], labels: [0, 1, 0]}}
state: [{name: total, dtype: float32, initial_value: 0.0, assign_add: 3.0e+38}]
strategy: {type: one_device, devices: [cpu:0]}
checkpoint: {every_steps: 1}
)");
  const Outcome stopped = run_program(folder, "fit state.yaml --run-dir a");
  CHECK(stopped.exit_code == 3);
  CHECK_MESSAGE(contains(stopped.err, "step 2 (epoch 1): the update is not finite; state 'total' has values"),
                stopped.err);
  CHECK_MESSAGE(contains(stopped.err, "step-000001, from which"), stopped.err);
  CHECK(run_program(folder, "fit state.yaml --run-dir a --resume").exit_code == 3);
}

TEST_CASE_FIXTURE(Fixture, "SIGHUP saves a checkpoint, unless it is ignored") {
  const std::string start =
      "\"$MIRRORTRAIN\" fit small.yaml --run-dir a --set training.epochs=100000 & pid=$!\n"
      "while [ ! -s a/metrics.jsonl ] && kill -0 $pid; do sleep 0.01; done\n";
  CHECK(run_script(folder, start + "kill -HUP $pid; wait $pid").exit_code == 129);
  CHECK(events("a").back()["status"] == "stopped");
  fs::remove_all(folder / "a");
  CHECK(
      run_script(folder, "trap '' HUP\n" + start + "kill -HUP $pid; sleep 0.3; kill -TERM $pid; wait $pid").exit_code ==
      143);
}

TEST_CASE_FIXTURE(Fixture, "a signal that comes to the process and its group counts once") {
  const Outcome stopped =
      run_script(folder,
                 "\"$MIRRORTRAIN\" fit small.yaml --run-dir a --set training.epochs=100000 & pid=$!\n"
                 "while [ ! -s a/metrics.jsonl ] && kill -0 $pid; do sleep 0.01; done\n"
                 "kill -INT $pid; kill -INT $pid; wait $pid");
  CHECK(stopped.exit_code == 130);
  CHECK(events("a").back()["status"] == "stopped");
}

TEST_CASE_FIXTURE(Fixture, "a run that was stopped in a validation does it again") {
  const std::string many = " --set data.validation.examples=200000 --set training.epochs=3 ";
  REQUIRE(fit("--run-dir whole" + many).exit_code == 0);
  const Outcome stopped =
      run_script(folder, "\"$MIRRORTRAIN\" fit small.yaml --run-dir cut" + many +
                             "& pid=$!\n"
                             "while ! grep -q '\"step\": 4,' cut/metrics.jsonl; do :; done 2> /dev/null\n"
                             "kill -TERM $pid; wait $pid");
  CHECK(stopped.exit_code == 143);
  CHECK(fit("--run-dir cut --resume" + many).exit_code == 0);
  CHECK(events("cut") == events("whole"));
  CHECK(summary("cut") == summary("whole"));
}

TEST_CASE_FIXTURE(Fixture, "closed streams and full devices neither enter files nor end the training") {
  CHECK(run_script(folder, "\"$MIRRORTRAIN\" fit small.yaml --run-dir a 0<&- >&- 2>&-").exit_code ==
        1);  // the test's result
  CHECK(summary("a")["status"] == "done");
  CHECK(events("a").size() == 17);
  CHECK(run_script(folder, "\"$MIRRORTRAIN\" fit small.yaml --run-dir b 2> /dev/full").exit_code == 0);
  const Outcome lost = run_script(folder, "\"$MIRRORTRAIN\" fit small.yaml --run-dir c > /dev/full");
  CHECK(lost.exit_code == 1);
  CHECK(contains(lost.err, "cannot write to stdout"));
  const Outcome long_text = run_script(folder, "\"$MIRRORTRAIN\" config schema > /dev/full");  // before its end
  CHECK(long_text.exit_code == 1);
  CHECK(contains(long_text.err, "cannot write to stdout: No space left on device; the results are lost"));
}

TEST_CASE_FIXTURE(Fixture,
                  "a run that is resumed between gradients of an update that is skipped skips it, on all workers") {
  std::string features, labels;
  for (int row = 0; row < 48; ++row) {
    features += fmt::format("{}[{}, {}]", row == 0 ? "" : ", ", row % 7, row % 5);
    labels += fmt::format("{}[{}]", row == 0 ? "" : ", ", row == 18 ? "1.0e30" : fmt::format("{}.5", row % 3));
  }
  write_file(folder / "bad.yaml", fmt::format(R"(
data: {{global_batch_size: 8, shuffle: false, train: {{format: inline, features: [{}], labels: [{}]}}}}
model: {{input_shape: [2], layers: [{{dense: {{units: 1}}}}]}}
loss: {{type: mean_squared_error}}
optimizer: {{type: adam, learning_rate: 0.01}}
strategy: {{type: mirrored, devices: [cpu:0]}}
gradients: {{accumulate_steps: 2}}
checkpoint: {{every_steps: 1}}
training: {{steps: 6, on_non_finite: skip}}
)",
                                              features, labels));
  for (const std::string start :
       {"fit bad.yaml", "launch --workers 2 fit bad.yaml --set strategy.type=multi_worker_mirrored"}) {
    CAPTURE(start);
    for (const char* run : {"whole", "parts"}) fs::remove_all(folder / run);
    const Outcome whole = run_program(folder, start + " --run-dir whole");
    REQUIRE_MESSAGE(whole.exit_code == 0, whole.err);
    const Outcome first = run_program(folder, start + " --run-dir parts --set training.steps=3");
    REQUIRE_MESSAGE(first.exit_code == 0, first.err);
    const Outcome second = run_program(folder, start + " --run-dir parts --resume");
    CHECK_MESSAGE(second.exit_code == 0, second.err);
    CHECK(text("parts/model.safetensors") == text("whole/model.safetensors"));
  }
}

}  // namespace
}  // namespace mirrortrain::testing::kept_test
