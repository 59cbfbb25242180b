// Bad input: one clear message, the right exit code, nothing half-written.
#include <doctest/doctest.h>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::errors_test {
namespace {

constexpr const char* kConfig = R"(name: line
data:
  global_batch_size: 4
  shuffle: false
  train: {format: inline, features: [[1], [2], [3], [4]], labels: [0, -1, -2, -3]}
model:
  input_shape: [1]
  layers:
    - dense: {units: 1}
loss: mean_squared_error
optimizer: {type: sgd, learning_rate: 0.01}
)";

struct Fixture {
  TemporaryFolder folder;
  Fixture() { write_file(folder / "line.yaml", kConfig); }
  Outcome fit(const std::string& arguments) { return run_program(folder, "fit line.yaml " + arguments); }
};

TEST_CASE_FIXTURE(Fixture, "all errors of a file are reported at once, in the order of the file") {
  std::string text = kConfig;
  text.replace(text.find("units"), 5, "unitz");
  text.replace(text.find("sgd"), 3, "sdg");
  text += "trainin: {epochs: 1}\n";
  write_file(folder / "wrong.yaml", text);
  const Outcome outcome = run_program(folder, "fit wrong.yaml");
  CHECK(outcome.exit_code == 2);
  const std::size_t units =
      outcome.err.find("wrong.yaml:9:15: model.layers[0].dense.unitz: unknown key; did you mean 'units'?");
  const std::size_t type = outcome.err.find("wrong.yaml:11:");
  const std::size_t training = outcome.err.find("wrong.yaml:12:1: trainin: unknown key; did you mean 'training'?");
  REQUIRE(units != std::string::npos);
  REQUIRE(type != std::string::npos);
  REQUIRE(training != std::string::npos);
  CHECK(units < type);
  CHECK(type < training);
  CHECK(contains(outcome.err, "errors"));
  CHECK_FALSE(fs::exists(folder / "runs"));
}

TEST_CASE_FIXTURE(Fixture, "a layer that does not fit is an error at its line with both shapes") {
  const Outcome outcome = fit("--set 'model.layers=[{conv2d: {filters: 4, kernel_size: 3}}]'");
  CHECK(outcome.exit_code == 2);
  CHECK(contains(outcome.err, "conv2d"));
  CHECK(contains(outcome.err, "[1]"));
}

TEST_CASE_FIXTURE(Fixture, "what callbacks watch is checked, too, where the model does not fit") {
  const std::string watches = " --set 'callbacks=[early_stopping: {metric: foo, split: train}]'";
  for (const char* wrong : {"'model.freeze=[conv*]'", "'model.layers=[{conv2d: {filters: 4, kernel_size: 3}}]'"}) {
    const Outcome outcome = fit(std::string("--set ") + wrong + watches);
    CHECK(outcome.exit_code == 2);
    CHECK_MESSAGE(contains(outcome.err, "expected loss or one of the run's metrics (loss), found 'foo'"), outcome.err);
    CHECK_MESSAGE(contains(outcome.err, "2 errors\n"), outcome.err);
  }
  CHECK(contains(fit("--set 'model.freeze=[conv*]'").err, "'conv*' matches no layer of the model; known: dense\n"));
}

TEST_CASE_FIXTURE(Fixture, "initial weights that are no file are refused with their place") {
  const auto answer = [&](const std::string& weights) { return fit("--set model.initial_weights=" + weights).err; };
  const std::string place = "--set model.initial_weights: " + folder.path().string() + "/";
  CHECK(contains(answer("none.safetensors"), place + "none.safetensors: there is no such file; correct the path"));
  REQUIRE(fit("--run-dir trained --set training.epochs=1").exit_code == 0);
  CHECK(contains(answer("trained"), place + "trained: it is a folder; name a file of weights, as " +
                                        (folder / "trained/model.safetensors").string()));
}

TEST_CASE_FIXTURE(Fixture, "what is wrong in recurrent layers is reported at each line") {
  write_file(folder / "wrong.yaml", R"(data:
  global_batch_size: 4
  train: {format: synthetic, examples: 8, shape: [7, 3], label_shape: [2]}
model:
  input_shape: [7, 3]
  layers:
    - lstm: {units: 4, return_sequence: true}
    - gru: {units: 0}
    - lstm: {units: 2, recurrent_activation: softmax}
    - gru: {units: 2, reset_after: maybe}
loss: mean_squared_error
optimizer: sgd
)");
  const Outcome outcome = run_program(folder, "fit wrong.yaml");
  CHECK(outcome.exit_code == 2);
  for (const char* message :
       {"wrong.yaml:7:24: model.layers[0].lstm.return_sequence: unknown key; did you mean 'return_sequences'?",
        "wrong.yaml:8:20: model.layers[1].gru.units: ", "wrong.yaml:9:46: model.layers[2].lstm.recurrent_activation: ",
        "wrong.yaml:10:36: model.layers[3].gru.reset_after: ", "4 errors"}) {
    CHECK_MESSAGE(contains(outcome.err, message), outcome.err);
  }
  CHECK_FALSE(fs::exists(folder / "runs"));
}

TEST_CASE_FIXTURE(Fixture, "a recurrent layer wants steps") {
  const Outcome outcome = fit("--set 'model.layers=[{gru: {units: 4}}]'");
  CHECK(outcome.exit_code == 2);
  CHECK(contains(outcome.err, "expected sequences [steps, channels], found the shape [1] of the model's input"));
}

TEST_CASE_FIXTURE(Fixture, "a file may add options to what it extends in whatever form that is written") {
  const auto shown = [&](const std::string& own, const std::string& base) {
    std::string text = kConfig;
    text.erase(text.find("optimizer:"));
    write_file(folder / "base.yaml", text + "optimizer: " + base + "\n");
    write_file(folder / "own.yaml", "extends: base.yaml\noptimizer: " + own + "\n");
    const Outcome outcome = run_program(folder, "config show own.yaml");
    return outcome.out + outcome.err;
  };
  for (const auto& [own, base] : {std::pair("{learning_rate: 0.5}", "adam"),
                                  std::pair("{adam: {learning_rate: 0.5}}", "{type: adam, beta_1: 0.8}"),
                                  std::pair("{type: adam, learning_rate: 0.5}", "{adam: {beta_1: 0.8}}")}) {
    const std::string text = shown(own, base);
    CHECK_MESSAGE(contains(text, "type: adam"), text);
    CHECK_MESSAGE(contains(text, "learning_rate: 0.5"), text);
    CHECK_MESSAGE(contains(text, "beta_1: "), text);
    CHECK_MESSAGE(contains(text, "beta_1: 0.8") == (std::string(base) != "adam"), text);
  }
  CHECK(contains(shown("{type: sgd}", "adam"), "type: sgd"));
}

TEST_CASE_FIXTURE(Fixture, "a base that cannot be read is the only error") {
  write_file(folder / "own.yaml", "extends: nothing.yaml\n");
  const Outcome outcome = run_program(folder, "config check own.yaml");
  CHECK(outcome.exit_code == 2);
  CHECK_MESSAGE(contains(outcome.err, "own.yaml:1:10: extends: nothing.yaml: cannot open the configuration"),
                outcome.err);
  CHECK_MESSAGE(!contains(outcome.err, "missing key"), outcome.err);
}

TEST_CASE_FIXTURE(Fixture, "an error of --set begins with its key") {
  const Outcome outcome = fit("--set optimizer.learning_rate=fast");
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.err.starts_with("--set optimizer.learning_rate:"));
}

TEST_CASE_FIXTURE(Fixture, "a name that is no folder's name is reported with other errors") {
  const Outcome outcome = fit("--set name=a/b --set optimizer.learning_rate=fast");
  CHECK(outcome.exit_code == 2);
  CHECK(contains(outcome.err, "--set name: "));
  CHECK(contains(outcome.err, "2 errors"));
}

TEST_CASE_FIXTURE(Fixture, "a name that is too long for the file system is refused") {
  const std::string name(300, 'x');
  const Outcome named = fit("--set name=" + name);
  CHECK(named.exit_code == 2);
  CHECK(contains(named.err, "--set name: expected at most 240 bytes, found 300"));
  for (const std::string& command : {"fit line.yaml --run-dir " + name, "fit " + name, "config check " + name,
                                     "eval " + name, "runs " + name, "fit --resume " + name}) {
    const Outcome outcome = run_program(folder, command);
    CHECK_MESSAGE(outcome.exit_code == 2, command);
    CHECK_MESSAGE(!contains(outcome.err, "filesystem error"), outcome.err);
  }
}

TEST_CASE_FIXTURE(Fixture, "memory that the system refuses is reported as such") {
  // More than the limit, with what the program itself maps, in whatever part of it the system refuses first.
  const Outcome outcome =
      run_script(folder,
                 "ulimit -v 2000000; \"$MIRRORTRAIN\" fit line.yaml --set 'model.layers=[{dense: {units: "
                 "20000}}, {dense: {units: 20000}}, {dense: {units: 1}}]'");
  CHECK(outcome.exit_code == 1);
  CHECK_MESSAGE(contains(outcome.err, "memory"), outcome.err);
  CHECK_FALSE(contains(outcome.err, "bad_alloc"));
}

TEST_CASE_FIXTURE(Fixture, "a GPU that does not exist is exit code 2") {
  const Outcome outcome = fit("--set strategy.devices=[cuda:0]");
  CHECK(outcome.exit_code == 2);
  CHECK(contains(outcome.err, "cuda:0"));
  CHECK_FALSE(fs::exists(folder / "runs"));
}

TEST_CASE_FIXTURE(Fixture, "missing data is exit code 1, names the file and leaves nothing behind") {
  const Outcome outcome = fit("--set 'data.train={format: npy, features: missing.npy, labels: missing2.npy}'");
  CHECK(outcome.exit_code == 1);
  CHECK(contains(outcome.err, "missing"));
  CHECK_FALSE(fs::exists(folder / "runs"));
}

TEST_CASE_FIXTURE(Fixture, "weights that do not fit the model are named, and no run is left behind") {
  REQUIRE(fit("--run-dir a --set model.layers[0].dense.units=1").exit_code == 0);
  const Outcome outcome =
      fit("--run-dir b --set model.initial_weights=a/model.safetensors --set model.layers[0].dense.use_bias=false");
  CHECK(outcome.exit_code == 1);
  CHECK(contains(outcome.err, "dense/bias"));
  CHECK_FALSE(fs::exists(folder / "b"));
}

TEST_CASE_FIXTURE(Fixture,
                  "a batch that memory cannot hold is exit code 1, reports what it needs and which one would fit") {
  write_file(folder / "large.yaml", R"(
data:
  global_batch_size: 4000000
  train: {format: synthetic, examples: 4000000, shape: [1], classes: 2}
model:
  input_shape: [1]
  layers:
    - dense: {units: 1000000}
    - dense: {units: 2}
loss: {sparse_categorical_crossentropy: {from_logits: true}}
optimizer: {type: sgd}
)");
  const Outcome outcome = run_program(folder, "fit large.yaml --run-dir run");
  CHECK(outcome.exit_code == 1);
  CHECK(contains(outcome.err, "cpu: not enough memory: a global batch of 4000000 wants 14.6 TiB"));
  CHECK(contains(outcome.err, "a global batch of about"));
  CHECK_FALSE(std::filesystem::exists(folder / "run"));
}

TEST_CASE_FIXTURE(Fixture,
                  "a model larger than the memory is refused before it is allocated, with what would make it fit") {
  write_file(folder / "wide.yaml", R"(
data:
  global_batch_size: 4
  train: {format: synthetic, examples: 8, shape: [100000], classes: 2}
model:
  input_shape: [100000]
  layers:
    - dense: {units: 10000000}
    - dense: {units: 2}
loss: {sparse_categorical_crossentropy: {from_logits: true}}
optimizer: {type: adam}
strategy: {devices: [cpu:0]}
)");
  const Outcome alone = run_program(folder, "fit wide.yaml --run-dir run");
  CHECK(alone.exit_code == 1);
  CHECK(contains(alone.err, "cpu: not enough memory: the model wants 3.6 TiB for weights"));
  CHECK(contains(alone.err, "7.3 TiB for the optimizer's state"));
  CHECK_FALSE(contains(alone.err, "optimizer_state: sharded"));
  CHECK_FALSE(std::filesystem::exists(folder / "run"));
  const Outcome two = run_script(folder,
                                 "\"$MIRRORTRAIN\" launch --workers 2 --grace 3 -- fit wide.yaml --run-dir run --set "
                                 "strategy.type=multi_worker_mirrored");
  CHECK(two.exit_code == 1);
  for (const char* part :
       {"strategy.optimizer_state: sharded the state is 3.6 TiB", "strategy.mesh: {data: auto, model: 2}",
        "strategy.optimizer_state: sharded_weights all of it is about 7.3 TiB", "smaller model"})
    CHECK_MESSAGE(contains(two.err, part), two.err);
}

TEST_CASE_FIXTURE(Fixture, "tasks of a cluster that may start no more threads say so") {
  const Outcome outcome =
      run_script(folder, fmt::format("ulimit -v 200000; \"$MIRRORTRAIN\" launch --workers 2 --grace 3 -- fit '{}'",
                                     repository_file("configs/multi-worker-fashion.yaml")));
  CHECK(outcome.exit_code == 1);
  const bool is_told =
      contains(outcome.err, "the system starts no more threads") || contains(outcome.err, "not enough memory");
  CHECK_MESSAGE(is_told, outcome.err);
}

TEST_CASE_FIXTURE(Fixture, "a stack on which threads would crash is refused") {
  const Outcome outcome = run_script(folder, "ulimit -s 48; exec \"$MIRRORTRAIN\" fit line.yaml");
  CHECK(outcome.exit_code == 1);
  CHECK_MESSAGE(contains(outcome.err,
                         "error: the stack is limited to 48 KiB, expected at least 512; raise the limit: "
                         "ulimit -s 8192\n"),
                outcome.err);
}

TEST_CASE_FIXTURE(Fixture, "a wrong command line is exit code 2") {
  CHECK(run_program(folder, "fit").exit_code == 2);
  CHECK(run_program(folder, "fitt line.yaml").exit_code == 2);
  CHECK(run_program(folder, "").exit_code == 2);
  CHECK(run_program(folder, "--help").exit_code == 0);
  CHECK(run_program(folder, "fit missing.yaml").exit_code == 2);
  CHECK(fit("--resume").exit_code == 2);
}

TEST_CASE_FIXTURE(Fixture, "an unwritable place is exit code 1") {
  write_file(folder / "file", "not a folder");
  const Outcome outcome = fit("--run-dir file/run");
  CHECK(outcome.exit_code == 1);
  CHECK(contains(outcome.err, "file"));
}

}  // namespace
}  // namespace mirrortrain::testing::errors_test
