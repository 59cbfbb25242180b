// What the workers of a cluster report of each other, and commands that they share or run alone.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::shared_work_test {
namespace {

constexpr const char* kNetwork = R"(
name: net
seed: 3
data:
  global_batch_size: 12
  train: {format: synthetic, examples: 66, shape: [6], classes: 3, seed: 5}
  validation: {fraction: 0.2}
  test: {format: synthetic, examples: 177, shape: [6], classes: 3, seed: 6}
model:
  input_shape: [6]
  layers:
    - dense: {units: 7, activation: tanh}
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: sgd, learning_rate: 0.05, momentum: 0.9}
strategy: {type: multi_worker_mirrored, devices: [cpu:0], threads_per_replica: 1, communication: {timeout_seconds: 20}}
training: {epochs: 3}
)";

struct Folder {
  TemporaryFolder folder;
  Folder() { std::ofstream(folder / "net.yaml") << kNetwork; }

  Outcome run(const std::string& arguments) { return run_program(folder, arguments); }
  /// As a task of TensorFlow's variable, of which no other runs.
  Outcome as_task(const std::string& job, int index, const std::string& arguments) {
    return run_script(folder, fmt::format(R"(TF_CONFIG='{{"cluster": {{"worker": ["127.0.0.1:1", "127.0.0.1:2"]}},
      "task": {{"type": "{}", "index": {}}}}}' "$MIRRORTRAIN" {})",
                                          job, index, arguments));
  }
  std::string text_of(const std::string& file) const { return read_text_file(folder / file); }
};

TEST_CASE_FIXTURE(Folder, "a worker that is slower than the others is named, with the share of the time that it took") {
  // The worker has a small part of the time, in pieces that are shorter than a step, until an epoch's line names it,
  // which is one in ten seconds: on a busy machine the other one may wait for the processor meanwhile. An epoch takes
  // several seconds, as a wait of less than one names nobody.
  const Outcome outcome = run_script(folder, R"sh(
    "$MIRRORTRAIN" launch --workers 2 -- fit net.yaml --run-dir run --set training.epochs=1000000 \
      --set checkpoint.keep=1 --set logging.report=false --set data.validation=null --set data.train.examples=3200000 \
      --set data.global_batch_size=8000 --set 'model.layers=[{dense: {units: 64}}, {dense: {units: 64}}, {dense: {units: 3}}]' 2> log &
    until grep -q '"event": "epoch"' run/metrics.jsonl 2> /dev/null; do sleep 0.05; done
    set -- $(cat /proc/$!/task/$!/children)
    for i in $(seq 1500); do
      kill -STOP $2; sleep 0.05; kill -CONT $2; sleep 0.005
      [ $((i % 20)) = 0 ] && grep -q 'waited for worker 1 ' log && break
    done
    kill -TERM $!
    wait $!
    ended=$?
    cat log >&2
    exit $ended)sh");
  CHECK_MESSAGE(outcome.exit_code == 128 + 15, outcome.err);
  std::map<std::string, double> largest;
  for (const nlohmann::json& event : events_of(folder / "run/metrics.jsonl")) {
    if (event["event"] != "epoch") continue;
    REQUIRE(event.contains("waited_for"));
    CHECK(event["waited_for"].size() == 2);
    for (const auto& [worker, share] : event["waited_for"].items()) {
      CHECK(share >= 0);
      CHECK(share <= 1);
      largest[worker] = std::max(largest[worker], share.get<double>());
    }
  }
  CHECK(largest["worker 1"] > 0);
  CHECK_MESSAGE(contains(outcome.err, "  waited for worker 1 "), outcome.err.substr(0, 4000));  // in an epoch's line
  CHECK_MESSAGE(contains(outcome.err, "[worker 0] the other workers waited for worker 1 in "), outcome.err);
}

TEST_CASE_FIXTURE(Folder, "the time for other workers is part of the profile, and of what lanes wait") {
  const Outcome outcome =
      run("launch --workers 2 -- fit net.yaml --run-dir run --profile --set logging.every_steps=1 "
          "--set training.epochs=1");
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK_MESSAGE(contains(outcome.out, "wait for other workers"), outcome.out);
  bool waits = false;
  for (const nlohmann::json& event : events_of(folder / "run/metrics.jsonl")) {
    if (event["event"] == "step") waits = waits || event["waiting"][0] > 0;
  }
  CHECK(waits);
  REQUIRE(run("fit net.yaml --run-dir one --set strategy.type=mirrored --profile").exit_code == 0);
  CHECK_FALSE(contains(text_of("one/metrics.jsonl"), "waited_for"));
}

TEST_CASE_FIXTURE(Folder, "the staleness of updates is in the events, update by update") {
  const Outcome outcome =
      run("launch --workers 2 --ps 1 -- fit net.yaml --run-dir run --set logging.every_steps=2 "
          "--set 'strategy={type: parameter_server, devices: [cpu:0]}'");
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  std::map<std::string, std::int64_t> updates;  // by kind of event
  for (const nlohmann::json& event : events_of(folder / "run/metrics.jsonl")) {
    if (!event.contains("staleness")) continue;
    for (const nlohmann::json& number : event["staleness"]) {
      updates[event["event"].get<std::string>()] += number.get<std::int64_t>();
    }
  }
  const auto summary = parsed(text_of("run/summary.json"));
  std::int64_t all = 0;
  for (const nlohmann::json& number : summary["staleness"]) all += number.get<std::int64_t>();
  CHECK(all == summary["step"]);
  CHECK(updates == std::map<std::string, std::int64_t>{{"epoch", all}, {"step", all}});
}

TEST_CASE_FIXTURE(Folder, "a dry run of one task waits for no other, and says what the task has") {
  const std::string dry = "fit net.yaml --dry-run --set strategy.communication.compression=bfloat16";
  const Outcome chief = as_task("worker", 0, dry);
  CHECK_MESSAGE(chief.exit_code == 0, chief.err);
  CHECK(contains(chief.out, "2 workers, from TF_CONFIG; this is worker 0 (127.0.0.1:1)"));
  CHECK_MESSAGE(contains(chief.out, "as bfloat16 with error feedback: "), chief.out);
  const Outcome other = as_task("worker", 1, dry);
  CHECK_MESSAGE(other.exit_code == 0, other.err);
  CHECK_MESSAGE(other.out.starts_with("worker 1 (127.0.0.1:2): cpu:0: 1 thread, replica 1; memory: about "), other.out);
  CHECK(other.err.empty());
  for (const char* more :
       {"--set strategy.optimizer_state=sharded_weights", "--set 'strategy.mesh={data: 1, model: 2}'",
        "--set strategy.elastic=true", "--set strategy.cross_device_ops=reduction_to_one_device"}) {
    for (const int task : {0, 1}) {
      const Outcome outcome = as_task("worker", task, fmt::format("fit net.yaml --dry-run {}", more));
      CHECK_MESSAGE(outcome.exit_code == 0, more << outcome.err);
    }
  }
  const Outcome launched = run("launch --workers 2 -- " + dry);
  CHECK_MESSAGE(launched.exit_code == 0, launched.err);
  CHECK(contains(launched.out, "[worker 0] 2 workers"));
  CHECK(contains(launched.out, "[worker 1] worker 1 (127.0.0.1:"));
  CHECK_FALSE(fs::exists(folder / "runs"));
}

TEST_CASE_FIXTURE(Folder, "a dry run lists the parts of variables on the replicas, and the stages of a pipeline") {
  const Outcome parts = as_task("worker", 0,
                                "fit net.yaml --dry-run --set strategy.optimizer_state=sharded_weights "
                                "--set 'model.layers=[{dense: {units: 401}}, {dense: {units: 3}}]'");
  CHECK_MESSAGE(parts.exit_code == 0, parts.err);
  CHECK_MESSAGE(contains(parts.out, "variable        shape     on the replicas  bytes of each  synchronization"),
                parts.out);
  CHECK(contains(parts.out, "dense/kernel    [6, 401]  2 x 1216         4864           on_write"));
  CHECK(contains(parts.out, "dense/bias      [401]     whole            1604           on_write"));
  const Outcome stages =
      run("fit net.yaml --dry-run --set 'strategy={type: mirrored, devices: [cpu:0], "
          "pipeline: {split_before: [dense_1], microbatches: 2}}'");
  CHECK_MESSAGE(stages.exit_code == 0, stages.err);
  CHECK_MESSAGE(contains(stages.out, "dense/kernel    [6, 7]  1      on_write"), stages.out);
  CHECK(contains(stages.out, "dense_1/kernel  [7, 3]  2      on_write"));
  const Outcome spread = as_task("worker", 0,
                                 "fit net.yaml --dry-run --set 'strategy.pipeline={split_before: [dense_1], "
                                 "microbatches: 2}'");
  CHECK_MESSAGE(spread.exit_code == 0, spread.err);
  CHECK_MESSAGE(contains(spread.out, "dense/kernel    [6, 7]  1      0        on_write"), spread.out);
  CHECK(contains(spread.out, "dense_1/kernel  [7, 3]  2      1        on_write"));
  CHECK(contains(spread.out, "stage 1 to 2: activations, "));
  CHECK(contains(spread.out, "cpu:0: 1 thread, stage 1 of 2"));
}

TEST_CASE_FIXTURE(Folder, "a task's configuration says how the cluster's workers reduce gradients") {
  const Outcome task = as_task("worker", 1, "config show net.yaml");
  CHECK_MESSAGE(task.exit_code == 0, task.err);
  CHECK_MESSAGE(contains(task.out, "2 workers"), task.out);
  const Outcome alone = run("config show net.yaml");
  CHECK_MESSAGE(alone.exit_code == 0, alone.err);
  CHECK_FALSE(contains(alone.out, "2 workers"));
}

TEST_CASE_FIXTURE(Folder, "tasks predict together, with the bits of one, and one of them writes") {
  REQUIRE(run("launch --workers 2 -- fit net.yaml --run-dir run").exit_code == 0);
  for (const char* file : {"a.csv", "a.npy", "a.jsonl"}) {
    const std::string shared = "shared-" + std::string(file);
    const Outcome alone = run(fmt::format("predict run --probabilities --output {}", file));
    CHECK_MESSAGE(alone.exit_code == 0, alone.err);
    const Outcome together = run(fmt::format("launch --workers 3 -- predict run --probabilities --output {}", shared));
    CHECK_MESSAGE(together.exit_code == 0, together.err);
    CHECK(text_of(shared) == text_of(file));
    CHECK(contains(together.err, "[worker 0] 177 predictions"));
    CHECK_FALSE(contains(together.err, "[worker 1] 177 predictions"));
  }
  const Outcome printed = run("launch --workers 2 -- predict run");
  CHECK_MESSAGE(printed.exit_code == 0, printed.err);
  CHECK(contains(printed.out, "[worker 0] 176,"));
  CHECK_FALSE(contains(printed.out, "[worker 1]"));
  // A model whose layers are divided over the workers.
  REQUIRE(
      run("launch --workers 2 -- fit net.yaml --run-dir parts --set 'strategy.mesh={data: 1, model: 2}'").exit_code ==
      0);
  REQUIRE(run("launch --workers 2 -- predict parts --output parts.csv").exit_code == 0);
  REQUIRE(run("predict parts --set strategy.mesh=null --output whole.csv").exit_code == 0);
  CHECK(text_of("parts.csv").substr(0, 200) == text_of("whole.csv").substr(0, 200));
  // Layers in stages on the workers.
  REQUIRE(run("launch --workers 2 -- fit net.yaml --run-dir stages --set 'strategy.pipeline={split_before: [dense_1], "
              "microbatches: 2}'")
              .exit_code == 0);
  REQUIRE(run("launch --workers 2 -- predict stages --probabilities --output stages.npy").exit_code == 0);
  REQUIRE(run("predict stages --set strategy.pipeline=null --probabilities --output whole.npy").exit_code == 0);
  CHECK(text_of("stages.npy") == text_of("whole.npy"));
}

TEST_CASE_FIXTURE(Folder,
                  "a run whose worker with the last stage is killed says so, and is resumed with the same bits") {
  const std::string fit =
      "-- fit net.yaml --set 'strategy.pipeline={split_before: [dense_1], microbatches: 2}' --set "
      "training.epochs=1000000 --set checkpoint.keep=1000000 ";
  const Outcome outcome = run_script(folder, fmt::format(R"sh(
    "$MIRRORTRAIN" launch --workers 2 {}--run-dir run &
    while kill -0 $! 2> /dev/null && ! ls run/checkpoints/step-?????? > /dev/null 2>&1; do sleep 0.05; done
    set -- $(cat /proc/$!/task/$!/children)
    kill -KILL $2
    wait $!)sh",
                                                         fit));
  CHECK(outcome.exit_code == 128 + 9);
  CHECK_MESSAGE(contains(outcome.err, "[worker 0] error: worker 1 (127.0.0.1:"), outcome.err);
  CHECK_MESSAGE(contains(outcome.err, "ended unexpectedly; worker 0 was in step "), outcome.err);
  CHECK_MESSAGE(contains(outcome.err, "; the last checkpoint is "), outcome.err);
  int last = 0;
  for (const auto& entry : fs::directory_iterator(folder / "run/checkpoints")) {
    const std::string name = entry.path().filename().string();
    if (name.size() == 11) last = std::max(last, std::stoi(name.substr(5)));
  }
  REQUIRE(last > 0);
  const int end = last + 7;
  const std::string until = fmt::format("--set training.steps={} ", end);
  const Outcome resumed = run("launch --workers 2 " + fit + until + "--resume run");
  CHECK_MESSAGE(resumed.exit_code == 0, resumed.err);
  CHECK_MESSAGE(contains(resumed.err, "resuming from step "), resumed.err);
  const Outcome whole = run("launch --workers 2 " + fit + until + "--run-dir whole");
  CHECK_MESSAGE(whole.exit_code == 0, whole.err);
  const std::string weights = fmt::format("checkpoints/step-{:06}/model.safetensors", end);
  CHECK(text_of("run/" + weights) == text_of("whole/" + weights));
}

TEST_CASE_FIXTURE(Folder, "several processes that would each predict everything are refused, and told how to share") {
  REQUIRE(run("fit net.yaml --run-dir run --set strategy.type=mirrored").exit_code == 0);
  const Outcome each = as_task("worker", 0, "predict run");
  CHECK(each.exit_code == 2);
  CHECK_MESSAGE(contains(each.err, "predict: TF_CONFIG lists 2 tasks, and the run's strategy.type is mirrored"),
                each.err);
  CHECK(contains(each.err, "share the work with --set strategy.type=multi_worker_mirrored"));
  const Outcome shared =
      run("launch --workers 2 -- predict run --set strategy.type=multi_worker_mirrored --output a.csv");
  CHECK_MESSAGE(shared.exit_code == 0, shared.err);
  CHECK(run("predict run --output b.csv").exit_code == 0);
  CHECK(text_of("a.csv") == text_of("b.csv"));
  const Outcome piped =
      as_task("worker", 0, "predict run --set strategy.type=multi_worker_mirrored --data - < /dev/null");
  CHECK(piped.exit_code == 2);
  CHECK_MESSAGE(contains(piped.err, "--data: several tasks read the data, which a pipe has only once"), piped.err);
}

TEST_CASE_FIXTURE(Folder, "predictions of several tasks are stopped by a signal to one, and leave no file") {
  REQUIRE(run("launch --workers 2 -- fit net.yaml --run-dir run").exit_code == 0);
  const Outcome outcome = run_script(folder, R"(
    "$MIRRORTRAIN" launch --workers 2 -- predict run --set data.test.examples=4000000 --output a.csv &
    set --
    while [ $# -lt 2 ] || ! ls a.csv*tmp > /dev/null 2>&1 && ! ls -l /proc/$1/fd 2> /dev/null | grep -q deleted; do
      sleep 0.05; set -- $(cat /proc/$!/task/$!/children); done
    until [ $((0x$(sed -n 's/SigCgt:\t*//p' /proc/$2/status) & 0x4000)) -ne 0 ]; do sleep 0.05; done  # it handles SIGTERM
    sleep 0.3
    kill -TERM $2
    wait $!)");
  CHECK_MESSAGE(outcome.exit_code == 128 + 15, outcome.err);
  CHECK_MESSAGE(contains(outcome.err, "[worker 0] warning: stopped by a signal; a.csv is not written"), outcome.err);
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    CHECK_FALSE(contains(entry.path().filename().string(), "a.csv"));
  }
}

}  // namespace
}  // namespace mirrortrain::testing::shared_work_test
