// Runs on several workers, which are processes of this machine.
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "cli/program.h"
#include "cluster/reachable_host.h"
#include "error_text.h"

namespace mirrortrain::testing::cluster_test {
namespace {

/// Moving statistics, dropout, and batches that leave the last replicas with fewer examples, or none.
constexpr const char* kNetwork = R"(
name: net
seed: 3
data:
  global_batch_size: 10
  train: {format: synthetic, examples: 66, shape: [6], classes: 3, seed: 5}
  validation: {fraction: 0.2}
  test: {format: synthetic, examples: 17, shape: [6], classes: 3, seed: 6}
model:
  input_shape: [6]
  layers:
    - dense: {units: 7, activation: tanh, kernel_regularizer: {l2: 0.01}}
    - batch_normalization: {momentum: 0.5}
    - dropout: {rate: 0.2}
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: sgd, learning_rate: 0.05, momentum: 0.9}
strategy: {type: multi_worker_mirrored, devices: [cpu:0], threads_per_replica: 1, communication: {timeout_seconds: 20}}
training: {epochs: 3}
logging: {every_steps: 1, tensorboard: false}
)";

struct Fixture {
  TemporaryFolder folder;
  Fixture() { std::ofstream(folder / "net.yaml") << kNetwork; }

  Outcome launch(int workers, const std::string& arguments) {
    return run_program(folder, fmt::format("launch --workers {} -- {}", workers, arguments));
  }
  Outcome on_one_machine(int replicas, const std::string& arguments) {
    std::string devices = "cpu:0";
    for (int i = 1; i < replicas; ++i) devices += fmt::format(",cpu:{}", i);
    return run_program(folder, fmt::format("fit net.yaml --set strategy.type=mirrored --set strategy.devices=[{}] {}",
                                           devices, arguments));
  }
  std::vector<nlohmann::json> events(const std::string& run) const {
    return events_of(folder / (run + "/metrics.jsonl"));
  }
};

/// In steps and epochs: a run that was resumed has the evaluation of its first end too.
void check_same_losses(std::vector<nlohmann::json> found, std::vector<nlohmann::json> expected) {
  const auto is_other = [](const nlohmann::json& event) {
    return event["event"] != "step" && event["event"] != "epoch";
  };
  std::erase_if(found, is_other);
  std::erase_if(expected, is_other);
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(found[i]["event"] == expected[i]["event"]);
    if (!expected[i].contains("loss")) continue;
    CHECK(found[i]["loss"].get<double>() == doctest::Approx(expected[i]["loss"].get<double>()).epsilon(1e-6));
    if (!expected[i].contains("validation")) continue;
    CHECK(found[i]["validation"]["loss"].get<double>() ==
          doctest::Approx(expected[i]["validation"]["loss"].get<double>()).epsilon(1e-6));
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "workers train as one machine with as many replicas, over the network and over shared memory") {
  REQUIRE(on_one_machine(3, "--run-dir one").exit_code == 0);
  for (const char* transport : {"auto", "ring"}) {
    CAPTURE(transport);
    const std::string run = fmt::format("several-{}", transport);
    const Outcome outcome = launch(
        3, fmt::format("fit net.yaml --run-dir {} --set strategy.communication.implementation={}", run, transport));
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    check_same_losses(events(run), events("one"));
    CHECK(contains(outcome.out, "[worker 0] test: "));
    CHECK_FALSE(contains(outcome.out, "[worker 1]"));  // the chief alone reports
  }
}

TEST_CASE_FIXTURE(Fixture, "with reduction_to_one_device the weights are one machine's, bit by bit") {
  const std::string same_bits = "--set strategy.cross_device_ops=reduction_to_one_device --run-dir ";
  REQUIRE(on_one_machine(4, same_bits + "one").exit_code == 0);
  REQUIRE(launch(2, "fit net.yaml --set strategy.devices=[cpu:0,cpu:1] " + same_bits + "two").exit_code == 0);
  CHECK(read_file(folder / "one/model.safetensors").size() == read_file(folder / "two/model.safetensors").size());
  CHECK(read_text_file(folder / "one/model.safetensors") == read_text_file(folder / "two/model.safetensors"));
}

TEST_CASE_FIXTURE(Fixture, "the places of a replica on several workers have one machine's bits, also after a resume") {
  const std::string one_row = "--set strategy.mesh.data=1 --set strategy.mesh.model=2 ",
                    rows = "--set strategy.mesh.data=2 --set strategy.mesh.model=2 ";
  REQUIRE(on_one_machine(2, one_row + "--run-dir one").exit_code == 0);
  const auto weights = [&](const std::string& run) { return read_text_file(folder / (run + "/model.safetensors")); };
  for (const char* transport : {"auto", "ring"}) {
    CAPTURE(transport);
    const std::string run = fmt::format("two-{}", transport);
    const Outcome outcome =
        launch(2, fmt::format("fit net.yaml {} --run-dir {} --set strategy.communication.implementation={}", one_row,
                              run, transport));
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(weights(run) == weights("one"));
  }
  CHECK(launch(2, "fit net.yaml " + one_row + "--run-dir part --set training.epochs=1").exit_code == 0);
  CHECK(launch(2, "fit --resume part --set training.epochs=2").exit_code == 0);
  CHECK(launch(2, "fit net.yaml " + one_row + "--run-dir whole --set training.epochs=2").exit_code == 0);
  CHECK(weights("part") == weights("whole"));
  REQUIRE(on_one_machine(4, rows + "--run-dir four-of-one").exit_code == 0);
  const Outcome four = launch(4, "fit net.yaml " + rows + "--run-dir four");
  CHECK_MESSAGE(four.exit_code == 0, four.err);
  CHECK(weights("four") == weights("four-of-one"));
  CHECK(contains(launch(2, "fit net.yaml " + one_row + "--run-dir no --set strategy.elastic=true").err,
                 "a worker that is lost takes its part of a replica's layers with it"));
}

TEST_CASE_FIXTURE(Fixture,
                  "compressed gradients train over the network, and a resume gives the bits of a run without one") {
  const std::string options =
      "fit net.yaml --set strategy.communication.compression=bfloat16 --set strategy.communication.implementation=ring "
      "--set strategy.communication.bytes_per_pack=64 ";
  REQUIRE(launch(2, options + "--run-dir whole").exit_code == 0);
  CHECK(contains(read_text_file(folder / "whole/run.log"), "as bfloat16 with error feedback"));
  REQUIRE(launch(2, options + "--run-dir part --set training.epochs=1").exit_code == 0);
  const Outcome resumed = launch(2, options + "--resume part");
  CHECK_MESSAGE(resumed.exit_code == 0, resumed.err);
  CHECK(read_text_file(folder / "whole/model.safetensors") == read_text_file(folder / "part/model.safetensors"));
  REQUIRE(launch(2, "fit net.yaml --run-dir exact").exit_code == 0);
  CHECK(read_text_file(folder / "whole/model.safetensors") != read_text_file(folder / "exact/model.safetensors"));
  CHECK(events("whole").back()["event"] == "end");
}

TEST_CASE_FIXTURE(Fixture, "files are dealt to the workers where there are enough, and the log says so") {
  std::ofstream(folder / "a.csv") << "x,y\n0.1,0\n0.2,1\n0.3,0\n0.4,1\n";
  std::ofstream(folder / "b.csv") << "x,y\n0.5,0\n0.6,1\n0.7,0\n";
  std::ofstream(folder / "files.yaml") << R"(
seed: 1
strategy: {type: multi_worker_mirrored, devices: ['cpu:0']}
data: {global_batch_size: 2, train: {format: csv, file: '?.csv', labels: y}}
model: {input_shape: [1], layers: [{dense: {units: 2}}]}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: sgd
training: {epochs: 2}
)";
  for (const auto& [shard, steps, note] :
       {std::tuple{"auto", 8, "data.auto_shard: auto selected file: 2 files for 2 workers"},
        std::tuple{"data", 8, "data.auto_shard: data: each worker takes its part of every global batch"},
        std::tuple{"off", 14, "data.auto_shard: off: every worker goes through all examples"}}) {
    CAPTURE(shard);
    const Outcome outcome =
        launch(2, fmt::format("fit files.yaml --run-dir {} --set data.auto_shard={}", shard, shard));
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(events(shard).back()["step"] == steps);
    CHECK(contains(read_text_file(folder / shard / "run.log"), note));
  }
  const Outcome refused = launch(3, "fit files.yaml --run-dir three --set data.auto_shard=file");
  CHECK(refused.exit_code == 2);
  CHECK(contains(refused.err, "data.train is 2 files for 3 workers; use data or auto"));
  const Outcome served =
      run_program(folder, "config check files.yaml --set strategy.type=parameter_server --set data.auto_shard=off");
  CHECK(served.exit_code == 2);
  CHECK(contains(served.err, "parameter_server gives each global batch to one worker"));
}

TEST_CASE_FIXTURE(Fixture, "a run is resumed, and evaluated, on another number of workers") {
  REQUIRE(launch(2, "fit net.yaml --run-dir run --set training.epochs=1").exit_code == 0);
  const Outcome resumed = launch(3, "fit net.yaml --resume run");
  CHECK_MESSAGE(resumed.exit_code == 0, resumed.err);
  CHECK(contains(resumed.err, "[worker 0] resuming from step 6"));
  const std::vector<nlohmann::json> all = events("run");
  CHECK(all.back()["event"] == "end");
  CHECK(all.back()["step"] == 18);
  const Outcome evaluated = launch(2, "eval run --json evaluation.json");
  CHECK_MESSAGE(evaluated.exit_code == 0, evaluated.err);
  const auto test = parsed(read_text_file(folder / "evaluation.json"));
  CHECK(test["examples"] == 17);
  CHECK(test["loss"].get<double>() == doctest::Approx(all[all.size() - 2]["loss"].get<double>()).epsilon(1e-6));
  const Outcome without_file = launch(2, "fit --resume run --set training.epochs=4");
  CHECK_MESSAGE(without_file.exit_code == 0, without_file.err);
  CHECK(contains(without_file.err, "[worker 0] resuming from step 18"));
}

TEST_CASE_FIXTURE(Fixture, "one command line starts and resumes a run of several workers, as their chief decides") {
  const std::string command = "fit net.yaml --run-dir run --resume=auto";
  CHECK(launch(2, command + " --set training.epochs=1").exit_code == 0);
  const Outcome resumed = launch(2, command);
  CHECK_MESSAGE(resumed.exit_code == 0, resumed.err);
  CHECK(contains(resumed.err, "[worker 0] resuming from step 6"));
  CHECK(launch(2, command).exit_code == 0);
}

TEST_CASE_FIXTURE(Fixture, "a run whose data changed is resumed by no task") {
  struct Row {
    const char *launch, *type;
    std::vector<const char*> others;
  };
  const Row rows[] = {{"launch --workers 2", "multi_worker_mirrored", {"[worker 1] worker 0"}},
                      {"launch --workers 1 --ps 1", "parameter_server", {"[worker 0] chief", "[ps 0] chief"}}};
  for (const Row& row : rows) {
    CAPTURE(std::string(row.type));
    const auto fit = [&](int last, const std::string& arguments) {
      write_file(folder / "a.csv", fmt::format("label,x0,x1,x2,x3,x4,x5\n0,1,2,3,4,5,6\n1,6,5,4,3,2,{}\n", last));
      return run_program(
          folder, fmt::format("{} -- fit net.yaml --set data.validation=null --set data.test=null --set "
                              "'data.train={{format: csv, file: a.csv, labels: label}}' --set strategy.type={} {} {}",
                              row.launch, row.type, "--set training.epochs=1", arguments));
    };
    const std::string run = row.type;
    REQUIRE(fit(1, "--run-dir " + run).exit_code == 0);
    const Outcome resumed = fit(2, "--resume " + run + " --set training.epochs=2");
    CHECK(resumed.exit_code == 2);
    CHECK_MESSAGE(contains(resumed.err, "data.train: the data for training or validation changed"), resumed.err);
    for (const char* const other : row.others) CHECK_MESSAGE(contains(resumed.err, other), resumed.err);
  }
}

TEST_CASE_FIXTURE(Fixture, "the classes' figures are those of one machine, whichever worker counted them") {
  REQUIRE(on_one_machine(1, "--run-dir run --set training.epochs=1 --set data.test.examples=200").exit_code == 0);
  REQUIRE(run_program(folder, "eval run --json one.json").exit_code == 0);
  const auto one = parsed(read_text_file(folder / "one.json"));
  std::int64_t counted = 0;
  for (const auto& row : one["confusion_matrix"]) {
    for (const std::int64_t count : row) counted += count;
  }
  CHECK(counted == 200);
  for (const int workers : {2, 3}) {
    const Outcome outcome = launch(workers, "eval run --set strategy.type=multi_worker_mirrored --json several.json");
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    const auto several = parsed(read_text_file(folder / "several.json"));
    CHECK(several["classes"] == one["classes"]);
    CHECK(several["confusion_matrix"] == one["confusion_matrix"]);
    CHECK(several["expected_calibration_error"].get<double>() ==
          doctest::Approx(one["expected_calibration_error"].get<double>()).epsilon(1e-12));
    CHECK(several["examples"] == 200);
    fs::remove(folder / "several.json");
  }
}

TEST_CASE_FIXTURE(Fixture, "classes by step are counted by several workers as by one, and padding by none") {
  std::string features, labels;
  for (int i = 0; i < 70; ++i) {
    features += fmt::format("{}[{}, {}, {}]", i == 0 ? "" : ", ", 1 + i % 3, i % 2 == 0 ? 2 : 0, i % 4 == 0 ? 3 : 0);
    labels += fmt::format("{}[{}, 1, {}]", i == 0 ? "" : ", ", i % 3, i % 2);
  }
  write_file(
      folder / "tagger.yaml",
      fmt::format("data:\n  global_batch_size: 8\n"
                  "  train: {{format: inline, features: [{}], labels: [{}]}}\n"
                  "model:\n  input_shape: [3]\n  layers:\n"
                  "    - embedding: {{input_dim: 4, output_dim: 8, mask_zero: true}}\n    - dense: {{units: 3}}\n"
                  "loss: {{type: sparse_categorical_crossentropy, from_logits: true}}\noptimizer: adam\n"
                  "strategy: {{type: multi_worker_mirrored, devices: [cpu:0], threads_per_replica: 1}}\n"
                  "training: {{epochs: 1}}\n",
                  features, labels));
  REQUIRE(run_program(folder, "fit tagger.yaml --run-dir run --set strategy.type=one_device").exit_code == 0);
  REQUIRE(run_program(folder, "eval run --split train --json one.json").exit_code == 0);
  const auto one = parsed(read_text_file(folder / "one.json"));
  std::int64_t counted = 0;
  for (const auto& row : one["confusion_matrix"]) {
    for (const std::int64_t count : row) counted += count;
  }
  CHECK(counted == 70 + 35 + 18);  // words
  const Outcome outcome =
      launch(2, "eval run --split train --set strategy.type=multi_worker_mirrored --json several.json");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const auto several = parsed(read_text_file(folder / "several.json"));
  CHECK(several["classes"] == one["classes"]);
  CHECK(several["confusion_matrix"] == one["confusion_matrix"]);
}

TEST_CASE_FIXTURE(Fixture, "a worker that is killed is named by the others, with the checkpoint to resume from") {
  const Outcome outcome = run_script(folder, R"(
    "$MIRRORTRAIN" launch --workers 3 -- fit net.yaml --run-dir run --set training.epochs=1000000 --set checkpoint.keep=1000000 &
    while [ ! -e run/checkpoints/step-000012 ] && kill -0 $!; do sleep 0.05; done
    set -- $(cat /proc/$!/task/$!/children)
    kill -KILL $3
    wait $!)");
  CHECK(outcome.exit_code == 128 + 9);
  for (const char* survivor : {"[worker 0] error: worker 2 (", "[worker 1] error: worker 2 ("}) {
    CHECK_MESSAGE(contains(outcome.err, survivor), outcome.err);
  }
  CHECK(contains(outcome.err, "ended unexpectedly; worker 0 was in step "));
  CHECK(contains(outcome.err, "the last checkpoint is "));
}

/// Starts an elastic run on three workers, kills worker 2 after step 12, waits until the run has resumed
/// `resumes` times and two more checkpoints were saved, and stops the run.
Outcome lose_a_worker(const Fixture& fixture, const std::string& launch_options, int resumes) {
  return run_script(fixture.folder, fmt::format(R"(
    "$MIRRORTRAIN" launch --workers 3 {} -- fit net.yaml --run-dir run --set training.epochs=1000000 --set strategy.elastic=true --set checkpoint.keep=1000000 &
    while [ ! -e run/checkpoints/step-000012 ] && kill -0 $!; do sleep 0.05; done
    set -- $(cat /proc/$!/task/$!/children)
    kill -KILL $3
    for i in $(seq 400); do [ $(grep -c 'resuming from step' run/run.log) -ge {} ] && break; sleep 0.05; done
    saved=$(ls run/checkpoints | wc -l)
    for i in $(seq 400); do [ $(ls run/checkpoints | wc -l) -gt $((saved + 1)) ] && break; sleep 0.05; done
    kill -TERM $!
    wait $!)",
                                                launch_options, resumes));
}

TEST_CASE_FIXTURE(Fixture,
                  "an elastic run continues without a worker that was killed, as a resume on the others does") {
  const Outcome outcome = lose_a_worker(*this, "", 1);
  CHECK_MESSAGE(outcome.exit_code == 128 + 15, outcome.err);
  CHECK(contains(outcome.err, "launch: worker 2 was killed by signal 9 (SIGKILL); the others continue without it"));
  CHECK(contains(outcome.err, "ended unexpectedly; worker 0 was in step "));
  const std::string log = read_text_file(folder / "run/run.log");
  const std::string phrase = "resuming from step ";
  const int resumed = std::stoi(log.substr(log.find(phrase) + phrase.size()));
  const auto step_of = [](const fs::path& checkpoint) { return std::stoi(checkpoint.filename().string().substr(5)); };
  int last = 0;
  for (const auto& entry : fs::directory_iterator(folder / "run/checkpoints")) last = std::max(last, step_of(entry));
  CHECK(last > resumed);

  fs::copy(folder / "run", folder / "copy", fs::copy_options::recursive);
  for (const auto& entry : fs::directory_iterator(folder / "copy/checkpoints")) {
    if (step_of(entry) > resumed) fs::remove_all(entry);
  }
  const Outcome again = launch(2, fmt::format("fit net.yaml --resume copy --set training.epochs=1000000 --set "
                                              "strategy.elastic=true --set training.steps={}",
                                              last));
  CHECK_MESSAGE(again.exit_code == 0, again.err);
  const std::string weights = fmt::format("checkpoints/step-{:06}/model.safetensors", last);
  CHECK(read_text_file(folder / ("copy/" + weights)) == read_text_file(folder / ("run/" + weights)));
}

TEST_CASE_FIXTURE(Fixture, "a worker that comes back takes part in an elastic run after the next checkpoint") {
  const Outcome outcome = lose_a_worker(*this, "--restarts 1", 2);
  CHECK_MESSAGE(outcome.exit_code == 128 + 15, outcome.err);
  CHECK(contains(outcome.err, "launch: worker 2 was killed by signal 9 (SIGKILL); it is started again"));
  const std::size_t joins = outcome.err.rfind("[worker 2] worker 2 (");
  CHECK_MESSAGE(joins != std::string::npos, outcome.err);
  CHECK(joins > outcome.err.find("has joined"));
  for (const nlohmann::json& event : events("run")) CHECK(event["step"] >= 1);
}

TEST_CASE_FIXTURE(Fixture, "an elastic run whose chief is suspended is ended, and started again") {
  const Outcome outcome = run_script(folder, R"(
    "$MIRRORTRAIN" launch --workers 3 --restarts 1 --grace 0 -- fit net.yaml --run-dir run --set training.epochs=1000000 --set checkpoint.keep=1000000 --set strategy.elastic=true --set strategy.communication.timeout_seconds=1 &
    while [ ! -e run/checkpoints/step-000012 ] && kill -0 $!; do sleep 0.05; done
    set -- $(cat /proc/$!/task/$!/children)
    kill -STOP $1
    for i in $(seq 400); do grep -q 'resuming from step' run/run.log && break; sleep 0.05; done
    sleep 0.5; kill -TERM $!
    wait $!)");
  CHECK_MESSAGE(outcome.exit_code == 128 + 15, outcome.err);
  CHECK(contains(outcome.err, ", the chief, has not been heard from for "));
  CHECK(contains(outcome.err, "signal 9 (SIGKILL) to worker 0"));
  CHECK(contains(outcome.err, "launch: restart 1 of 1: "));
  CHECK_FALSE(contains(outcome.err, "it is started again"));
}

TEST_CASE_FIXTURE(Fixture, "elastic runs are refused where no worker can be lost alone") {
  const Outcome alone = run_program(
      folder, "fit net.yaml --set strategy.elastic=true --set strategy.type=mirrored --set strategy.cluster=null");
  CHECK(alone.exit_code == 2);
  CHECK_MESSAGE(contains(alone.err, "strategy.elastic: only multi_worker_mirrored loses workers"), alone.err);
  const Outcome served = run_program(folder,
                                     "launch --workers 1 --ps 1 -- fit net.yaml --set strategy.elastic=true --set "
                                     "strategy.type=parameter_server");
  CHECK(served.exit_code == 2);
  CHECK_MESSAGE(contains(served.err, "may always leave and come back"), served.err);
}

TEST_CASE_FIXTURE(Fixture, "workers with another configuration or other data do not begin") {
  const auto start = [&](const std::string& different) {
    return run_script(folder, R"(
      cluster='"cluster": {"worker": ["127.0.0.1:'$((20000 + $$ * 4 % 12000))'", "127.0.0.1:'$((40000 + $$ % 20000))'"]}'
      TF_CONFIG="{$cluster, \"task\": {\"type\": \"worker\", \"index\": 1}}" "$MIRRORTRAIN" fit )" +
                                  different + R"( &
      TF_CONFIG="{$cluster, \"task\": {\"type\": \"worker\", \"index\": 0}}" "$MIRRORTRAIN" fit net.yaml
      chief=$?; wait $!; exit $((chief * 10 + $?)))");
  };
  const Outcome other_command = start("net.yaml --resume");
  CHECK(other_command.exit_code == 22);
  CHECK_MESSAGE(contains(other_command.err, "the command is fit --resume, but fit on worker 0"), other_command.err);
  const Outcome other_key = start("net.yaml --set model.layers[0].dense.units=8");
  CHECK(other_key.exit_code == 22);
  CHECK_MESSAGE(contains(other_key.err, "model.layers[0].dense.units is 8, but 7 on worker 0"), other_key.err);
  std::ofstream(folder / "a.csv") << "label,x0,x1,x2,x3,x4,x5\n0,1,2,3,4,5,6\n1,6,5,4,3,2,1\n";
  fs::create_directory(folder / "other");
  std::ofstream(folder / "other/a.csv") << "label,x0,x1,x2,x3,x4,x5\n0,1,2,3,4,5,6\n1,6,5,4,3,2,2\n";
  const std::string csv =
      "net.yaml --set 'data.validation=null' --set 'data.test=null' --set 'data.train={format: csv, file: ";
  const Outcome other_data =
      run_script(folder, R"(
      cluster='"cluster": {"worker": ["127.0.0.1:'$((20000 + $$ * 4 % 12000))'", "127.0.0.1:'$((40000 + $$ % 20000))'"]}'
      TF_CONFIG="{$cluster, \"task\": {\"type\": \"worker\", \"index\": 1}}" "$MIRRORTRAIN" fit )" +
                             csv + "other/a.csv, labels: label}' & \n" + R"(
      TF_CONFIG="{$cluster, \"task\": {\"type\": \"worker\", \"index\": 0}}" "$MIRRORTRAIN" fit )" +
                             csv + "a.csv, labels: label}'\n chief=$?; wait $!; exit $((chief * 10 + $?))");
  CHECK(other_data.exit_code == 22);
  CHECK_MESSAGE(contains(other_data.err, "the training data is 2 examples, labels "), other_data.err);
}

TEST_CASE_FIXTURE(Fixture, "a worker of parameter servers whose data is not the chief's is refused") {
  std::ofstream(folder / "a.csv") << "label,x0,x1,x2,x3,x4,x5\n0,1,2,3,4,5,6\n1,6,5,4,3,2,1\n";
  fs::create_directory(folder / "other");
  std::ofstream(folder / "other/a.csv") << "label,x0,x1,x2,x3,x4,x5\n0,1,2,3,4,5,6\n1,6,5,4,3,2,2\n";
  const Outcome outcome = run_script(folder, R"(
    base=$((20000 + $$ * 4 % 12000))
    cluster='"cluster": {"chief": ["127.0.0.1:'$base'"], "worker": ["127.0.0.1:'$((base + 20000))'"], "ps": ["127.0.0.1:'$((base + 21000))'"]}'
    start() {
      TF_CONFIG="{$cluster, \"task\": {\"type\": \"$1\", \"index\": 0}}" "$MIRRORTRAIN" fit net.yaml --set data.validation=null \
        --set data.test=null --set "data.train={format: csv, file: $2, labels: label}" --set 'model.layers=[{dense: {units: 3}}]' \
        --set 'strategy={type: parameter_server, devices: [cpu:0], communication: {timeout_seconds: 2}}'
    }
    start ps a.csv &
    start chief a.csv &
    start worker other/a.csv
    worker=$?; wait; exit $worker)");
  CHECK(outcome.exit_code == 2);
  CHECK_MESSAGE(contains(outcome.err, "the training data is 2 examples, labels "), outcome.err);
}

TEST_CASE_FIXTURE(Fixture, "a strategy of several machines without a cluster, and the other way round, are refused") {
  const Outcome none = run_program(folder, "fit net.yaml");
  CHECK(none.exit_code == 2);
  CHECK(contains(none.err, "strategy.type: multi_worker_mirrored needs a cluster"));
  const Outcome several = run_script(folder, R"(TF_CONFIG='{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type":
    "worker", "index": 0}}' "$MIRRORTRAIN" fit net.yaml --set strategy.type=mirrored)");
  CHECK(several.exit_code == 2);
  CHECK(contains(several.err, "trains in one process, but TF_CONFIG lists 2 tasks"));
  CHECK_FALSE(fs::exists(folder / "runs"));
}

TEST_CASE_FIXTURE(Fixture, "parameter servers train from the command line, and a run is resumed on others") {
  const std::string served =
      "fit net.yaml --set 'strategy={type: parameter_server, devices: [cpu:0], max_staleness: 0}' "
      "--set 'model.layers=[{dense: {units: 7, activation: tanh}}, {dense: {units: 3}}]'";
  const Outcome first =
      run_program(folder, "launch --workers 2 --ps 2 -- " + served + " --run-dir run --set training.epochs=1");
  CHECK_MESSAGE(first.exit_code == 0, first.err);
  const Outcome second = run_program(folder, "launch --workers 1 --ps 1 -- " + served + " --resume run");
  CHECK_MESSAGE(second.exit_code == 0, second.err);
  const Outcome one = run_program(folder,
                                  "fit net.yaml --run-dir one --set 'strategy={type: one_device, devices: [cpu:0]}' "
                                  "--set 'model.layers=[{dense: {units: 7, activation: tanh}}, {dense: {units: 3}}]'");
  REQUIRE(one.exit_code == 0);
  check_same_losses(events("run"), events("one"));
}

TEST_CASE_FIXTURE(Fixture, "the chief names a parameter server that is suspended, and ends within five seconds more") {
  const Outcome outcome = run_script(folder, R"(
    "$MIRRORTRAIN" launch --workers 1 --ps 2 --grace 5.5 -- fit net.yaml --run-dir run --set training.epochs=1000000 --set checkpoint.keep=1000000 \
      --set 'strategy={type: parameter_server, devices: [cpu:0], communication: {timeout_seconds: 2}}' \
      --set 'model.layers=[{dense: {units: 7}}, {dense: {units: 3}}]' &
    while [ ! -e run/checkpoints/step-000012 ] && kill -0 $!; do sleep 0.05; done
    set -- $(cat /proc/$!/task/$!/children)
    kill -STOP $4
    wait $!)");
  CHECK(outcome.exit_code == 1);
  const std::size_t error = outcome.err.find("[chief] error: ps 1 (");
  REQUIRE_MESSAGE(error != std::string::npos, outcome.err);
  CHECK(contains(outcome.err.substr(error), "; the last checkpoint is "));
  CHECK_MESSAGE(error < outcome.err.find("launch: after 5.5 s: signal 15 (SIGTERM) to ps 1\n"), outcome.err);
}

constexpr const char* kServed =
    "--set 'strategy={type: parameter_server, devices: [cpu:0], communication: {timeout_seconds: 20}}' "
    "--set 'model.layers=[{dense: {units: 7}}, {dense: {units: 3}}]' ";

TEST_CASE_FIXTURE(Fixture, "what only a server or an evaluator would find wrong, every task finds before it connects") {
  const auto refused = [&](const std::string& options, const std::string& message) {
    const Outcome outcome = run_program(folder, "launch --workers 1 " + options);
    CHECK(outcome.exit_code == 2);
    CHECK_MESSAGE(contains(outcome.err, message), outcome.err);
    CHECK_FALSE(contains(outcome.err, "[chief]"));
    const Outcome alone =
        run_script(folder, R"(TF_CONFIG='{"cluster": {"chief": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"],
      "ps": ["127.0.0.1:3"], "evaluator": ["127.0.0.1:4"]}, "task": {"type": "chief", "index": 0}}' "$MIRRORTRAIN" )" +
                               options.substr(options.find("fit ")));
    CHECK(alone.exit_code == 2);
    CHECK_MESSAGE(contains(alone.err, message), alone.err);
  };
  refused(std::string("--ps 2 -- fit net.yaml ") + kServed +
              "--set 'strategy.partitioner={fixed_shards: {num_shards: 2}}' --set optimizer=lamb",
          "strategy.partitioner: it would split");
  refused(
      std::string("--ps 1 --evaluator -- fit net.yaml ") + kServed + "--set data.validation=null --set data.test=null",
      "the evaluator has nothing to evaluate on");
}

TEST_CASE_FIXTURE(Fixture, "parameter servers that a cluster lacks are told of, however it is told of") {
  const std::string fit = std::string("fit net.yaml ") + kServed;
  for (const std::string& start :
       {std::string(R"(TF_CONFIG='{"cluster": {"worker": ["127.0.0.1:1"]}, "task": {"type": "worker", "index": 0}}' )"),
        std::string(R"(TF_CONFIG='{"cluster": {"chief": ["127.0.0.1:1"], "worker": ["127.0.0.1:2"]},
                      "task": {"type": "chief", "index": 0}}' )"),
        std::string("RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=1 ")}) {
    const Outcome outcome = run_script(folder, start + "\"$MIRRORTRAIN\" " + fit);
    CHECK(outcome.exit_code == 2);
    CHECK_MESSAGE(contains(outcome.err, "strategy.type parameter_server needs "), outcome.err);
  }
}

TEST_CASE_FIXTURE(Fixture,
                  "two processes with torchrun's variables train, of which the chief's address alone is known") {
  const Outcome one = on_one_machine(2, "--run-dir one");
  REQUIRE_MESSAGE(one.exit_code == 0, one.err);
  for (const std::string implementation : {"auto", "ring"}) {
    CAPTURE(implementation);
    const Outcome outcome = run_script(folder, fmt::format(R"(
      export WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT={} LOCAL_WORLD_SIZE=2
      fit="fit net.yaml --run-dir {} --set strategy.communication.implementation={}"
      LOCAL_RANK=1 RANK=1 "$MIRRORTRAIN" $fit &
      LOCAL_RANK=0 RANK=0 "$MIRRORTRAIN" $fit
      code=$?
      wait $! && exit $code)",
                                                           free_port("127.0.0.1"), implementation, implementation));
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    check_same_losses(events(implementation), events("one"));
  }
}

TEST_CASE_FIXTURE(Fixture, "a loss that is not finite is the chief's failure, and its exit code every task's") {
  const Outcome outcome =
      run_program(folder, std::string("launch --workers 2 --ps 2 -- fit net.yaml --run-dir run ") + kServed +
                              "--set 'optimizer={type: sgd, learning_rate: 1.0e+30}' --set training.epochs=100");
  CHECK_MESSAGE(outcome.exit_code == 3, outcome.err);
  CHECK_MESSAGE(contains(outcome.err, "launch: chief ended with exit code 3; its last lines:"), outcome.err);
  CHECK_FALSE(contains(outcome.err, "ps 0 (127.0.0.1"));
}

TEST_CASE_FIXTURE(Fixture, "a worker of parameter servers names the chief that died, its own step and the way on") {
  const Outcome outcome = run_script(folder, fmt::format(R"(
    "$MIRRORTRAIN" launch --workers 1 --ps 1 -- fit net.yaml --run-dir run --set training.epochs=1000000 {} &
    while kill -0 $! 2> /dev/null && ! ls run/checkpoints/step-?????? > /dev/null 2>&1; do sleep 0.05; done
    set -- $(cat /proc/$!/task/$!/children)
    kill -KILL $1
    wait $!)",
                                                         kServed));
  CHECK(outcome.exit_code == 128 + 9);
  const std::size_t error = outcome.err.find("[worker 0] error: chief (127.0.0.1:");
  REQUIRE_MESSAGE(error != std::string::npos, outcome.err);
  const std::string line = outcome.err.substr(error, outcome.err.find('\n', error) - error);
  CHECK_MESSAGE(contains(line, ") ended unexpectedly; worker 0 was in step "), line);
  CHECK_MESSAGE(contains(line, "; the last checkpoint is " + (folder / "run/checkpoints/step-").string()), line);
  CHECK_MESSAGE(contains(line, "; start every task again with --resume"), line);
}

TEST_CASE_FIXTURE(Fixture, "a token that the chief does not ask for, and a TF_CONFIG without a cluster, are told of") {
  std::ofstream(folder / "token") << "secret\n";
  const Outcome outcome = run_script(folder, R"(
    cluster='"cluster": {"worker": ["127.0.0.1:'$((20000 + $$ * 4 % 12000))'", "127.0.0.1:'$((40000 + $$ % 20000))'"]}'
    TF_CONFIG="{$cluster, \"task\": {\"type\": \"worker\", \"index\": 1}}" "$MIRRORTRAIN" fit net.yaml \
      --set strategy.cluster.token_file=token &
    TF_CONFIG="{$cluster, \"task\": {\"type\": \"worker\", \"index\": 0}}" "$MIRRORTRAIN" fit net.yaml
    chief=$?; wait $!; exit $((chief * 10 + $?)))");
  CHECK(outcome.exit_code == 22);
  CHECK_MESSAGE(contains(outcome.err, "the token is given, but absent on worker 0"), outcome.err);
  const Outcome task =
      run_script(folder, R"(TF_CONFIG='{"task": {"type": "worker", "index": 0}}' "$MIRRORTRAIN" fit net.yaml)");
  CHECK(task.exit_code == 2);
  CHECK_MESSAGE(contains(task.err, "needs a cluster, and TF_CONFIG has no `cluster`: "), task.err);
}

TEST_CASE_FIXTURE(Fixture, "a parameter server whose certificate is another machine's is told of as such") {
  const Outcome outcome = run_script(folder, fmt::format(R"(
    port=$((20000 + $$ * 4 % 12000))
    cluster='"cluster": {{"chief": ["127.0.0.1:'$port'"], "worker": ["127.0.0.1:'$((port + 1))'"], "ps": ["127.0.0.1:'$((port + 2))'"]}}'
    start() {{
      TF_CONFIG="{{$cluster, \"task\": {{\"type\": \"$1\", \"index\": 0}}}}" "$MIRRORTRAIN" fit net.yaml --run-dir run {0} --set "strategy.cluster.tls={{certificate: {1}/$2.pem, key: {1}/$2.key, authority: {1}/authority.pem}}"
    }}
    start ps elsewhere & start worker node & start chief node
    chief=$?; wait; exit $chief)",
                                                         kServed, repository_file("tests/rpc/certificates")));
  CHECK(outcome.exit_code == 1);
  CHECK_MESSAGE(contains(outcome.err, "writing variables: a TLS handshake failed (Peer name 127.0.0.1"), outcome.err);
}

TEST_CASE_FIXTURE(Fixture, "the chief tells of an evaluator that is killed, and at the end that it has not come back") {
  const Outcome outcome = run_script(folder, R"(
    port=$((20000 + $$ * 4 % 12000))
    cluster='"cluster": {"worker": ["127.0.0.1:'$port'"], "evaluator": ["127.0.0.1:'$((port + 1))'"]}'
    TF_CONFIG="{$cluster, \"task\": {\"type\": \"evaluator\", \"index\": 0}}" "$MIRRORTRAIN" fit net.yaml -q \
      --run-dir run --set training.epochs=1000000 &
    evaluator=$!
    TF_CONFIG="{$cluster, \"task\": {\"type\": \"worker\", \"index\": 0}}" "$MIRRORTRAIN" fit net.yaml -q \
      --run-dir run --set training.epochs=1000000 &
    while kill -0 $! 2> /dev/null && ! ls run/checkpoints/step-?????? > /dev/null 2>&1; do sleep 0.05; done
    kill -KILL $evaluator; sleep 0.5; kill -TERM $!
    wait $!)");
  CHECK(outcome.exit_code == 128 + 15);
  CHECK_MESSAGE(contains(outcome.err, ") ended unexpectedly; the run continues without it, and it may be started"),
                outcome.err);
  CHECK_MESSAGE(contains(outcome.err, ") was lost and has not come back: "), outcome.err);
}

TEST_CASE_FIXTURE(Fixture, "a task that waits for another at the start warns of it once, quiet or not") {
  const Outcome outcome = run_script(folder, R"(
    port=$((20000 + $$ * 4 % 12000))
    start() {
      TF_CONFIG="{\"cluster\": {\"worker\": [\"127.0.0.1:$1\", \"127.0.0.1:9\"]}, \"task\": {\"type\": \"worker\", \"index\": 0}}" \
        exec "$MIRRORTRAIN" fit net.yaml $2 2> "err$2"
    }
    start $port -q & quiet=$!
    start $((port + 1)) & loud=$!
    tells() { [ $(grep -c "waiting for worker" "$1") -ge $2 ]; }
    while kill -0 $quiet && kill -0 $loud && ! { tells err-q 1 && tells err 2; }; do sleep 0.1; done
    kill -TERM $quiet $loud; wait $quiet; wait $loud
    cat err-q err >&2
    grep -c "^warning: waiting for worker 1 (127.0.0.1:9)$" err-q err)");
  CHECK_MESSAGE(outcome.out == "err-q:1\nerr:1\n", outcome.err);
}

TEST_CASE_FIXTURE(Fixture, "a launch that is stopped says how to launch it again") {
  const Outcome outcome = run_script(folder, R"(
    "$MIRRORTRAIN" launch --workers 2 -- fit net.yaml --run-dir run --set training.epochs=1000000 &
    while kill -0 $! 2> /dev/null && ! ls run/checkpoints/step-?????? > /dev/null 2>&1; do sleep 0.05; done
    kill -TERM $!
    wait $!)");
  CHECK(outcome.exit_code == 128 + 15);
  CHECK_MESSAGE(
      contains(outcome.err, "resume with: mirrortrain launch --workers 2 -- fit --resume " + (folder / "run").string()),
      outcome.err);
}

TEST_CASE_FIXTURE(Fixture, "a task that launch did not start says how to resume it as it was started") {
  const Outcome outcome = run_script(folder, R"(
    port=$((20000 + $$ * 4 % 12000))
    TF_CONFIG="{\"cluster\": {\"worker\": [\"127.0.0.1:$port\"]}, \"task\": {\"type\": \"worker\", \"index\": 0}}" \
      "$MIRRORTRAIN" fit net.yaml --run-dir run --set training.epochs=1000000 &
    while kill -0 $! 2> /dev/null && ! ls run/checkpoints/step-?????? > /dev/null 2>&1; do sleep 0.05; done
    kill -TERM $!
    wait $!)");
  CHECK_MESSAGE(
      contains(outcome.err, "resume with: mirrortrain fit --resume " + (folder / "run").string() + ", on every task"),
      outcome.err);
}

TEST_CASE_FIXTURE(Fixture, "workers end together at a notice and at a limit of time, with one exit code") {
  const Outcome outcome = run_script(folder, R"(
    "$MIRRORTRAIN" launch --workers 2 -- fit net.yaml --run-dir run --set training.epochs=1000000 \
      --set 'termination={grace_seconds: 0.2, exit_code: 42}' &
    while kill -0 $! 2> /dev/null && ! ls run/checkpoints/step-?????? > /dev/null 2>&1; do sleep 0.05; done
    kill -TERM $!
    wait $!)");
  CHECK_MESSAGE(outcome.exit_code == 42, outcome.err);
  CHECK_FALSE(contains(outcome.err, "last lines"));
  CHECK(contains(outcome.err, "SIGTERM: training continues for 0.2 s"));
  const auto summary = [&] { return parsed(read_text_file(folder / "run/summary.json")); };
  CHECK(summary()["stopped_by"] == "SIGTERM");
  const int before = summary()["step"];
  const Outcome limited = run_program(folder,
                                      "launch --workers 2 -- fit net.yaml --run-dir run --resume=auto --set "
                                      "training.epochs=1000000 --set training.time_limit=0.001s");
  CHECK_MESSAGE(limited.exit_code == 0, limited.err);
  CHECK(summary()["stopped_by"] == "training.time_limit");
  CHECK(summary()["step"] > before);
}

/// Takes connections at a port of this machine and answers as another kind of server does, or not at all.
class Stranger {
 public:
  explicit Stranger(std::string greeting) : greeting_(std::move(greeting)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(socket_, 16) == 0);
    REQUIRE(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] {
      for (int one; (one = ::accept(socket_, nullptr, nullptr)) >= 0;) {
        taken_.push_back(one);
        ::send(one, greeting_.data(), greeting_.size(), MSG_NOSIGNAL);
      }
    });
  }
  ~Stranger() {
    ::shutdown(socket_, SHUT_RDWR);  // ends accept
    thread_.join();
    for (const int one : taken_) ::close(one);
    ::close(socket_);
  }
  int port() const { return port_; }

 private:
  const std::string greeting_;
  const int socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int port_ = 0;
  std::vector<int> taken_;
  std::thread thread_;
};

TEST_CASE_FIXTURE(Fixture, "a worker says who else listens at the chief's address, whether it speaks or not") {
  for (const auto& [greeting, expected] : std::vector<std::pair<std::string, std::string>>{
           {"", "something listens there that does not answer as a mirrortrain does"},
           {"SSH-2.0-OpenSSH_9.2\r\n", "it says 'SSH-2.0-OpenSSH_9.2'"},
           {"HTTP/1.1 400 Bad Request\r\n\r\n", "it says 'HTTP/1.1 400 Bad Request'"}}) {
    CAPTURE(greeting);
    const Stranger stranger(greeting);
    const Outcome outcome = run_script(folder, fmt::format(R"(
      TF_CONFIG='{{"cluster": {{"worker": ["127.0.0.1:{}", "127.0.0.1:9"]}}, "task": {{"type": "worker", "index": 1}}}}' \
        timeout 60 "$MIRRORTRAIN" fit net.yaml 2> err &
      while kill -0 $! 2> /dev/null && ! grep -q "{}" err; do sleep 0.1; done
      kill -TERM $! 2> /dev/null
      wait $!
      cat err >&2)",
                                                           stranger.port(), expected));
    CHECK_MESSAGE(contains(outcome.err, expected), outcome.err);
  }
}

TEST_CASE_FIXTURE(Fixture, "the chief warns where workers of one machine take all its cores each") {
  const Outcome outcome = run_script(folder, R"(
    [ $(nproc) = $(getconf _NPROCESSORS_ONLN) ] || exit 77  # this test has cores of its own
    port=$((20000 + $$ * 4 % 12000))
    cluster="\"cluster\": {\"worker\": [\"127.0.0.1:$port\", \"127.0.0.1:$((port + 1))\"]}"
    start() {
      TF_CONFIG="{$cluster, \"task\": {\"type\": \"worker\", \"index\": $1}}" \
        timeout 60 "$MIRRORTRAIN" fit net.yaml --set strategy.threads_per_replica=$2 --run-dir run-$2
    }
    start 1 null & start 0 null || exit 1
    wait $!
    echo "--" >&2
    start 1 1 & start 0 1
    wait $!)");
  if (outcome.exit_code == 77) return;
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  const std::size_t second = outcome.err.find("--\n");
  CHECK_MESSAGE(contains(outcome.err.substr(0, second), "warning: 2 workers run on this machine, and each takes "),
                outcome.err);
  const bool has_two = std::thread::hardware_concurrency() >= 2;
  CHECK_MESSAGE(contains(outcome.err.substr(second), "workers run on this machine") == !has_two, outcome.err);
}

}  // namespace
}  // namespace mirrortrain::testing::cluster_test
