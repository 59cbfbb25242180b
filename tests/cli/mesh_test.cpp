// Meshes as a user has them: one run's checkpoints on any of them, what is printed before a run, and mistakes.
#include <doctest/doctest.h>

#include <string>

#include "cli/program.h"
#include "data/files.h"
#include "error_text.h"

namespace mirrortrain::testing::mesh_test {
namespace {

const std::string kConfig = R"(data:
  global_batch_size: 16
  train: {format: synthetic, examples: 100, shape: [6], classes: 3}
  validation: {fraction: 0.2}
model:
  input_shape: [6]
  layers:
    - dense: {units: 9, activation: relu}
    - dropout: {rate: 0.2}
    - dense: {units: 5, activation: tanh}
    - dense: {units: 3}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam, learning_rate: 0.01}
strategy: {type: mirrored, devices: [cpu:0, cpu:1], mesh: {data: 1, model: 2}}
training: {epochs: 3}
checkpoint: {every_steps: 5}
)";

/// The last epoch's loss, and that of its validation.
std::vector<double> last_losses(const std::filesystem::path& run) {
  std::vector<double> losses;
  for (const auto& event : events_of(run / "metrics.jsonl")) {
    const std::string kind = event.at("event");
    if (kind == "epoch" || kind == "evaluation") losses.push_back(event.at("loss"));
  }
  REQUIRE(losses.size() >= 2);
  return {losses.end() - 2, losses.end()};
}

TEST_CASE("a run goes on on any other mesh, and its predictions are those of one device") {
  const TemporaryFolder folder;
  write_file(folder / "a.yaml", kConfig);
  const auto on = [](const std::string& mesh) { return " --set 'strategy.mesh=" + mesh + "'"; };
  REQUIRE(run_program(folder,
                      "fit a.yaml --run-dir whole" + on("{data: 1, model: 1}") + " --set 'strategy.devices=[cpu:0]'")
              .exit_code == 0);
  const std::vector<double> expected = last_losses(folder / "whole");
  for (const char* const first : {"{data: 1, model: 2}", "{data: 2, model: 2}"}) {
    for (const char* const then : {"{data: 2, model: 1}", "{data: 1, model: 4}", "{data: 1, model: 2}"}) {
      CAPTURE(first);
      CAPTURE(then);
      std::filesystem::remove_all(folder / "run");
      REQUIRE(run_program(folder, "fit a.yaml --run-dir run --set training.epochs=2" + on(first)).exit_code == 0);
      const Outcome outcome = run_program(folder, "fit --resume --run-dir run --set training.epochs=3" + on(then));
      REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
      const std::vector<double> found = last_losses(folder / "run");
      for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-5));
    }
  }
  const auto evaluated = [&](const std::string& run, const std::string& more) {
    const Outcome outcome = run_program(folder, "eval " + run + " --split validation --json -" + more);
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    return outcome.out;
  };
  CHECK(contains(evaluated("run", ""), "\"accuracy\""));
}

TEST_CASE("before a run the parts of the variables are printed, and what is exchanged") {
  const TemporaryFolder folder;
  write_file(folder / "a.yaml", kConfig);
  const Outcome outcome = run_program(folder, "fit --dry-run a.yaml");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(contains(outcome.out, "cpu:1: 1 thread, place (0, 1)"));
  CHECK(contains(outcome.out, "dense/kernel    [6, 9]  [6, 5 + 4]"));
  CHECK(contains(outcome.out, "dense_1/kernel  [9, 5]  [5 + 4, 5]"));
  CHECK(contains(outcome.out, "dense_1: all_reduce, 320 B"));  // 16 examples of 5 float32
  CHECK(!contains(run_program(folder, "fit --dry-run a.yaml --set strategy.mesh=null").out, "place"));
}

TEST_CASE("what a mesh cannot be is refused at its place") {
  const TemporaryFolder folder;
  write_file(folder / "a.yaml", kConfig);
  const auto refused = [&](const std::string& set, const std::string& text) {
    CAPTURE(set);
    const Outcome outcome = run_program(folder, "config check a.yaml --set '" + set + "'");
    CHECK(outcome.exit_code == 2);
    CHECK_MESSAGE(contains(outcome.err, text), outcome.err);
  };
  refused("strategy.mesh={data: 1, model: 3}", "1 x 3 = 3 places cannot be dealt to 2 devices");
  refused("strategy.mesh={data: auto, model: auto}", "expected a number for data or for model, found auto for both");
  refused("model.recompute=[[]]", "model.recompute: expected names of layers that are recomputed together, found an");
  refused("strategy.mesh={data: 0}", "strategy.mesh.data: expected `auto` or a number of places");
  refused("strategy.replicas=2", "there are 1, but strategy.replicas is 2");
  refused("strategy.type=parameter_server", "use `type: mirrored`");
  refused("strategy.cross_device_ops=ring", "leave cross_device_ops out");
  refused("optimizer.type=lamb", "use strategy.mesh.model: 1");
  refused("variables=[{match: \"dense/kernel\", shard: [model, model]}]", "names the axis `model` twice");
  refused("variables=[{match: \"dense/*\", shard: [null, model]}]", "dense/bias: expected at most 1 axes");
  refused("variables=[{match: \"dense/*\", shard: [data]}]", "divided along `model`");
  refused("variables=[{match: \"dense*/kernel\", shard: [tp]}]", "expected one of data, model");
  refused("variables=[{match: \"dens/kernel\", shard: [model]}]", "found 'dense/kernel', 'dense/bias'");
  refused("variables=[{match: \"dense_2/kernel\", shard: [null, model]}, {match: \"dense_2/kernel\", shard: [model]}]",
          "no variable is left");
  const Outcome narrow = run_program(folder,
                                     "config check a.yaml --set strategy.mesh.model=4 --set 'variables=[{match: "
                                     "\"dense_2/kernel\", shard: [null, model]}]'");
  CHECK(narrow.exit_code == 2);
  CHECK(contains(narrow.err, "axis 1 of its shape [5, 3] has 3 elements, fewer than the 4 places"));
  const Outcome idle =
      run_program(folder,
                  "config check a.yaml --set strategy.mesh=null --set 'variables=[{match: \"dense/*\", "
                  "shard: [model]}]'");
  CHECK(idle.exit_code == 0);
  CHECK(contains(idle.err, "each replica has one place, so nothing is divided"));
}

TEST_CASE("verify compares meshes") {
  const TemporaryFolder folder;
  write_file(folder / "a.yaml", kConfig);
  const Outcome outcome = run_program(folder, "verify a.yaml --mesh 1x1,2x1,1x3,2x2 --steps 4 --tolerance 1e-5");
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(contains(outcome.out, "1x3"));
  for (const std::string mesh : {"2by2", "4294967297x1", "1x+1", "\" 1x1\"", "1x1x1", "0x1", "1x1025", "x"}) {
    CHECK(contains(run_program(folder, "verify a.yaml --mesh " + mesh).err, "--mesh: expected meshes as data x model"));
  }
  CHECK(run_program(folder, "verify a.yaml --mesh 1x1").exit_code == 2);
  const Outcome idle = run_program(folder, "verify a.yaml --mesh 2x1 --steps 4 --set gradients.accumulate_steps=5");
  CHECK(idle.exit_code == 2);
  CHECK(contains(idle.err, "--steps: gradients are accumulated over 5 steps, so that no weight would change in 4"));
  CHECK(run_program(folder, "verify a.yaml --replicas 1,2 --steps 2").exit_code == 0);  // whatever its own mesh is
}

}  // namespace
}  // namespace mirrortrain::testing::mesh_test
