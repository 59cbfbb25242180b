// Runs with parameter servers, whose tasks are threads here and talk over loopback.
#include "train/training.h"

#include <doctest/doctest.h>

#include <numeric>

#include "base/files.h"
#include "strategy/parameter_server/parameter_client.h"
#include "task_threads.h"
#include "train/checkpoint/checkpoint.h"
#include "train/session/check_configuration.h"
#include "train/session/run_strategy.h"

namespace mirrortrain {
namespace {

using testing::Overrides;
using testing::TaskThreads;

/// Moving statistics, dropout, regularization, a short last batch, a frozen layer.
constexpr const char* kNetwork = R"(
seed: 3
data:
  global_batch_size: 10
  shuffle: true
  train: {format: synthetic, examples: 43, shape: [6], classes: 3, seed: 5}
  validation: {format: synthetic, examples: 27, shape: [6], classes: 3, seed: 6}
model:
  input_shape: [6]
  layers:
    - dense: {units: 7, activation: tanh, kernel_regularizer: {l2: 0.01}}
    - batch_normalization: {momentum: 0.5}
    - dropout: {rate: 0.2}
    - dense: {units: 5, trainable: false}
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: sgd, learning_rate: 0.1, momentum: 0.9}
strategy: {threads_per_replica: 1, communication: {timeout_seconds: 20}}
)";

/// The same on this machine.
struct OneDevice {
  std::vector<double> losses;
  std::map<std::string, std::vector<float>> variables;
  StepSums validation;

  OneDevice(const char* configuration, Overrides overrides, int steps) {
    overrides.emplace_back("strategy.type=one_device");
    const TemporaryFolder folder;
    const auto file = folder.path() / "test.yaml";
    std::ofstream(file) << configuration;
    const CheckedConfiguration checked = check_configuration(file.string(), overrides);
    Run run = build_run(checked, {.evaluates = {data::Split::kValidation}});
    set_first_values(checked, *run.strategy);
    TrainingSteps training(run, checked.values());
    TrainingState state;
    for (int i = 0; i < steps; ++i) {
      training.train(state);
      const StepSums& sums = run.strategy->take_sums().front();
      losses.push_back(sums.loss / static_cast<double>(sums.examples));
    }
    validation = evaluate_all(*run.strategy, *run.validation, checked.values().data.global_batch_size);
    run.strategy->read_variables(Lasting::kValues, [&](const LastingVariable& variable) {
      const auto elements = variable.value.copy(0).span<float>();
      variables[variable.value.name()] = {elements.begin(), elements.end()};
    });
  }
};

void check_equals_one_device(const Overrides& more, const Overrides& of_servers, int servers, int workers) {
  constexpr int kSteps = 7;
  const OneDevice expected(kNetwork, more, kSteps);
  Overrides overrides = more;
  overrides.insert(overrides.end(), of_servers.begin(), of_servers.end());
  overrides.emplace_back("strategy.max_staleness=0");
  TaskThreads tasks(kNetwork, overrides, servers, workers);
  CHECK(tasks.steps(kSteps) == expected.losses);
  const StepSums validation = evaluate_all(tasks.strategy(), *tasks.run().validation, 10);
  CHECK(validation.examples == expected.validation.examples);
  CHECK(validation.loss == doctest::Approx(expected.validation.loss).epsilon(1e-12));
  CHECK(validation.metrics == expected.validation.metrics);
  const auto variables = tasks.variables();
  for (const auto& [name, values] : expected.variables) {
    CAPTURE(name);
    CHECK(variables.at(name) == values);
  }
  CHECK(tasks.strategy().staleness() == std::vector<std::int64_t>{kSteps});
  for (const std::string& error : tasks.end()) CHECK(error == "no error");
}

TEST_CASE(
    "with max_staleness 0 one replica on a worker gives the bits of one_device, however the variables are placed") {
  for (const int servers : {1, 2, 3}) {
    for (const char* partitioner :
         {"null", "{type: fixed_shards, num_shards: 2}", "{type: min_size, min_shard_bytes: 40, max_shards: 3}",
          "{type: max_size, max_shard_bytes: 50}"}) {
      CAPTURE(servers);
      CAPTURE(partitioner);
      check_equals_one_device({}, {fmt::format("strategy.partitioner={}", partitioner)}, servers, 2);
    }
  }
}

TEST_CASE("with max_staleness 0 every optimizer and clipping by value give the bits of one_device") {
  for (const char* optimizer :
       {"{type: sgd, learning_rate: 0.1}", "{type: adam, learning_rate: 0.01}",
        "{type: sgd, learning_rate: 0.1, momentum: 0.9, nesterov: true}", "{type: adafactor, learning_rate: 0.1}",
        "{type: muon, learning_rate: 0.01, use_ema: true}",
        "[{type: lamb, match: \"dense/*\", clipnorm: 0.05}, {type: sgd, learning_rate: 0.1}]"}) {
    CAPTURE(optimizer);
    check_equals_one_device({fmt::format("optimizer={}", optimizer), "gradients.clip_value=0.02"}, {}, 2, 1);
  }
}

TEST_CASE("tables of which workers exchange rows alone have the bits of one_device") {
  const Overrides words = {
      "data.train={format: synthetic, examples: 43, inputs: {text: {shape: [2], below: 5000}}, classes: 3, seed: 5}",
      "data.validation={format: synthetic, examples: 27, inputs: {text: {shape: [2], below: 5000}}, classes: 3, seed: "
      "6}",
      "model.input_shape=null", "model.inputs={text: {shape: [2]}}",
      "model.layers=[{embedding: {input_dim: 5000, output_dim: 4}}, {flatten: {}}, {dense: {units: 3}}]"};
  for (const char* optimizer :
       {"{type: sgd, learning_rate: 0.1}", "{type: adam, learning_rate: 0.01}", "{type: lamb, learning_rate: 0.01}"}) {
    for (const char* partitioner : {"null", "{type: fixed_shards, num_shards: 3}"}) {
      if (std::string(optimizer).find("lamb") != std::string::npos && std::string(partitioner) != "null") continue;
      CAPTURE(optimizer);
      CAPTURE(partitioner);
      Overrides more = words;
      more.push_back(fmt::format("optimizer={}", optimizer));
      check_equals_one_device(more, {fmt::format("strategy.partitioner={}", partitioner)}, 2, 2);
    }
  }
  Overrides clipped = words;
  clipped.emplace_back("gradients.clip_norm=0.01");
  const OneDevice expected(kNetwork, clipped, 7);
  clipped.emplace_back("strategy.max_staleness=0");
  TaskThreads tasks(kNetwork, clipped, 2, 1);
  const std::vector<double> losses = tasks.steps(7);
  for (std::size_t i = 0; i < losses.size(); ++i) CHECK(losses[i] == doctest::Approx(expected.losses[i]).epsilon(1e-6));
}

TEST_CASE("servers keep weights within their largest norms, and statistics are those of a step's whole batch") {
  check_equals_one_device({"model.layers[0].dense.kernel_constraint={max_norm: {max_value: 0.5}}",
                           "model.layers[1].batch_normalization.synchronized=true"},
                          {}, 2, 1);
}

TEST_CASE("classes count by their weights on workers as on one device, and not in validation") {
  check_equals_one_device(
      {"loss={type: sparse_categorical_crossentropy, from_logits: true, class_weight: {0: 4, 2: 0.25}}"}, {}, 2, 2);
}

TEST_CASE("examples count by their weights on workers as on one device, in validation too") {
  const TemporaryFolder folder;
  std::string rows = "a,b,w,y\n";
  for (int i = 0; i < 70; ++i) rows += fmt::format("{},{},{},{}\n", i % 5, i % 7, 0.3 * (i % 11), i % 3);
  write_file(folder / "a.csv", rows);
  check_equals_one_device(
      {fmt::format("data.train={{format: csv, file: {}, labels: y, weights: w}}", (folder / "a.csv").string()),
       "data.validation={fraction: 0.4, shuffle: false}", "model.input_shape=[2]"},
      {}, 2, 1);
}

/// Without statistics of batches, which are those of each replica's part.
void check_near_one_device(const char* devices, const char* gradients) {
  const Overrides common = {
      fmt::format("gradients={}", gradients),
      "model.layers=[{dense: {units: 7, activation: tanh, kernel_regularizer: {l2: 0.01}}}, {dense: {units: 3}}]"};
  const OneDevice expected(kNetwork, common, 7);
  Overrides overrides = common;
  overrides.push_back(fmt::format("strategy.devices={}", devices));
  overrides.emplace_back("strategy.max_staleness=0");
  TaskThreads tasks(kNetwork, overrides, 2, 2);
  const std::vector<double> losses = tasks.steps(7);
  for (std::size_t i = 0; i < losses.size(); ++i) CHECK(losses[i] == doctest::Approx(expected.losses[i]).epsilon(1e-6));
  CHECK(difference(expected.variables, tasks.variables()) < 1e-5);
}

TEST_CASE("clipping by norm, and several replicas on a worker, are as near as another order of sums") {
  check_near_one_device("[cpu:0]", "{clip_norm: 0.1}");
  check_near_one_device("[cpu:0, cpu:1]", "{}");
  check_near_one_device("[cpu:0, cpu:1]", "{clip_norm: 0.1}");
}

TEST_CASE("workers that do not wait for each other apply each step once, and their staleness is counted") {
  TaskThreads tasks(testing::kCounter, {"strategy.threads_per_replica=1"}, 2, 3);
  tasks.steps(200);
  testing::check_count(tasks, 200);
  const std::vector<std::int64_t> staleness = tasks.strategy().staleness();
  CHECK(std::accumulate(staleness.begin(), staleness.end(), std::int64_t{0}) == 200);
  for (const std::string& error : tasks.end()) CHECK(error == "no error");
}

TEST_CASE("max_staleness is never exceeded") {
  TaskThreads tasks(testing::kCounter, {"strategy.threads_per_replica=1", "strategy.max_staleness=2"}, 2, 3);
  tasks.steps(200);
  testing::check_count(tasks, 200);
  CHECK(tasks.strategy().staleness().size() <= 3);
}

TEST_CASE("a checkpoint of the chief resumes a run exactly, on other servers too") {
  const Overrides overrides = {"strategy.max_staleness=0", "optimizer={type: adam, learning_rate: 0.01}",
                               "state=[{name: steps, assign_add: 1}]"};
  const TemporaryFolder folder;
  const auto checkpoints_of = [&](TaskThreads& tasks) {
    return Checkpoints(folder.path(), tasks.strategy(), {tasks.model().slot_names(), {"accuracy"}}, {});
  };
  std::vector<double> rest;
  {
    TaskThreads tasks(kNetwork, overrides, 2, 2);
    tasks.steps(3);
    checkpoints_of(tasks).save(tasks.state, 1);
    rest = tasks.steps(4);
    tasks.seek(checkpoints_of(tasks).restore().value());  // the same servers go back too
    CHECK(tasks.steps(4) == rest);
  }
  TaskThreads tasks(kNetwork, overrides, 3, 1);
  tasks.seek(checkpoints_of(tasks).restore().value());
  CHECK(tasks.state.step == 3);
  CHECK(tasks.steps(4) == rest);
  CHECK(std::get<std::int64_t>(tasks.strategy().state().readings().at(0).value.value()) == 7);
}

TEST_CASE("gradients of more than one message arrive whole") {
  // 2.6 million weights, 10 MB, on one server and on two.
  const char* large = R"(
data:
  global_batch_size: 2
  train: {format: synthetic, examples: 4, shape: [5100], classes: 2, seed: 5}
model: {input_shape: [5100], layers: [{dense: {units: 510}}, {dense: {units: 2}}]}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
optimizer: {type: sgd, learning_rate: 0.001}
strategy: {threads_per_replica: 1}
)";
  const OneDevice expected(large, {"data.validation={format: synthetic, examples: 2, shape: [5100], classes: 2}"}, 2);
  for (const int servers : {1, 2}) {
    CAPTURE(servers);
    TaskThreads tasks(large, {"strategy.max_staleness=0", "strategy.partitioner={type: fixed_shards, num_shards: 2}"},
                      servers, 1);
    const std::vector<double> losses = tasks.steps(2);
    for (std::size_t i = 0; i < losses.size(); ++i)
      CHECK(losses[i] == doctest::Approx(expected.losses[i]).epsilon(1e-6));
    CHECK(difference(expected.variables, tasks.variables()) < 1e-6);
    // And without memory that is shared, as from another machine.
    const Placement placement = placement_of(tasks.chief().checked, servers);
    const ParameterClient other(placement, tasks.cluster().ps, tasks.chief().security, 10);
    std::vector<float> before(static_cast<std::size_t>(placement.elements(Content::kChanging))), after = before;
    const auto versions = other.pull(1, Content::kChanging, before);
    std::vector<float> gradients(before.size());
    std::iota(gradients.begin(), gradients.end(), 0.0f);
    CHECK(other.push({.generation = 1, .step = 100, .oldest_open_step = 100, .updates = 100, .learning_rates = {1}},
                     versions, gradients));
    other.pull(1, Content::kChanging, after);
    bool all_right = true;
    for (std::size_t i = 0; i < before.size(); ++i) all_right &= after[i] == before[i] - gradients[i];
    CHECK(all_right);
  }
}

}  // namespace
}  // namespace mirrortrain
