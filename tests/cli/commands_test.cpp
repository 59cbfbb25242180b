// The commands beside fit.
#include <doctest/doctest.h>

#include <sstream>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::commands_test {
namespace {

using nlohmann::json;

std::string tiny() { return repository_file("configs/tiny.yaml"); }

TEST_CASE("eval of a run repeats its test exactly, on any number of replicas") {
  TemporaryFolder folder;
  REQUIRE(run_program(folder, "fit " + tiny() + " --run-dir run").exit_code == 0);
  json test;
  for (const json& event : events_of(folder / "run/metrics.jsonl")) {
    if (event["event"] == "evaluation") test = event;
  }
  REQUIRE(run_program(folder, "eval run --json eval.json").exit_code == 0);
  json evaluation = parsed(read_text_file(folder / "eval.json"));
  for (const char* key : {"classes", "confusion_matrix", "expected_calibration_error", "calibration"})
    CHECK(evaluation.erase(key) == 1);
  CHECK(evaluation == test);

  REQUIRE(run_program(folder, "eval run --json seven.json --set strategy.devices=[cpu:0] --set strategy.replicas=7")
              .exit_code == 0);
  const json seven = parsed(read_text_file(folder / "seven.json"));
  CHECK(seven["examples"] == 500);
  CHECK(seven["metrics"] == test["metrics"]);
  CHECK(seven["loss"].get<double>() == doctest::Approx(test["loss"].get<double>()).epsilon(1e-6));
}

TEST_CASE("eval of a run that went on and was killed takes what it saved last") {
  TemporaryFolder folder;
  REQUIRE(run_program(folder, "fit " + tiny() + " --run-dir run --set training.steps=4").exit_code == 0);
  const std::vector<std::string> written_last = {"model.safetensors", "summary.json"};
  for (const std::string& name : written_last) std::filesystem::copy_file(folder / "run" / name, folder / name);
  REQUIRE(run_program(folder, "eval run --json eval.json").exit_code == 0);
  const auto evaluated_step = [&] { return parsed(read_text_file(folder / "eval.json"))["step"].get<int>(); };
  CHECK(evaluated_step() == 4);

  REQUIRE(run_program(folder, "fit " + tiny() + " --run-dir run --resume --set training.steps=6").exit_code == 0);
  for (const std::string& name : written_last) std::filesystem::rename(folder / name, folder / "run" / name);
  const Outcome outcome = run_program(folder, "eval run --json eval.json");
  REQUIRE(outcome.exit_code == 0);
  CHECK(outcome.err.find("the run continued after model.safetensors was written; using step-000006") !=
        std::string::npos);
  CHECK(evaluated_step() == 6);
  REQUIRE(run_program(folder, "eval run --json eval.json --checkpoint run/checkpoints/step-000004/").exit_code == 0);
  CHECK(evaluated_step() == 4);
}

TEST_CASE("an unknown command is refused with a list of the commands") {
  TemporaryFolder folder;
  const Outcome outcome = run_program(folder, "fti " + tiny());
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.err.starts_with("mirrortrain: there is no command 'fti'"));
  for (const char* part :
       {"commands are fit, tune, eval, predict, generate, export, serve, init, bench-allreduce, verify, plan, config, "
        "checkpoint, data, cache, devices, doctor, runs, report, launch;",
        "did you mean 'fit'?", "\nUsage: mirrortrain [OPTIONS] COMMAND\n"}) {
    CHECK_MESSAGE(outcome.err.find(part) != std::string::npos, outcome.err);
  }
}

TEST_CASE("eval of a configuration takes its newest run, and without one says what to do") {
  TemporaryFolder folder;
  const Outcome none = run_program(folder, "eval " + tiny());
  CHECK(none.exit_code == 2);
  CHECK(none.err.find("--checkpoint") != std::string::npos);
  REQUIRE(run_program(folder, "fit " + tiny() + " --set training.epochs=1").exit_code == 0);
  const Outcome outcome = run_program(folder, "eval " + tiny() + " --split validation");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out.starts_with("validation: loss "));
}

TEST_CASE("config check, show, schema") {
  TemporaryFolder folder;
  CHECK(run_program(folder, "config check " + tiny()).exit_code == 0);
  const Outcome shown = run_program(folder, "config show " + tiny() + " --set seed=5");
  CHECK(shown.exit_code == 0);
  CHECK(shown.out.find("# --set") != std::string::npos);
  CHECK(shown.out.find("# default") != std::string::npos);
  CHECK(shown.out.find("tiny.yaml:") != std::string::npos);
  const Outcome schema = run_program(folder, "config schema");
  CHECK(schema.exit_code == 0);
  CHECK(parsed(schema.out).contains("$schema"));
  CHECK(contains(schema.out, R"("pattern": "^(cpu|cuda):[0-9]+$")"));
  const json keys = parsed(schema.out)["else"]["properties"];
  for (const char* const section : {"strategy", "gradients", "training", "checkpoint", "logging"}) {
    CAPTURE(section);
    CHECK(keys[section]["type"] == json({"object", "null"}));  // as config check takes them
  }
  CHECK(keys["data"]["type"] == "object");
  CHECK(keys["name"]["pattern"] == R"(^(?!\.{1,2}$)[^/]*$)");
  CHECK(run_program(folder, "config check missing.yaml").exit_code == 2);
}

TEST_CASE("config check only warns of a GPU that does not exist") {
  TemporaryFolder folder;
  const Outcome outcome = run_program(folder, "config check " + tiny() + " --set strategy.devices=[cuda:0]");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.find("warning: ") != std::string::npos);
}

TEST_CASE("docs/configuration.md is what `config reference` prints") {
  TemporaryFolder folder;
  CHECK(run_program(folder, "config reference").out == read_text_file(repository_file("docs/configuration.md")));
}

TEST_CASE("docs/keras.md names what the schema has") {
  TemporaryFolder folder;
  const std::string schema = run_program(folder, "config schema").out;
  std::istringstream page(read_text_file(repository_file("docs/keras.md")));
  int names = 0;
  for (std::string line; std::getline(page, line);) {
    CAPTURE(line);
    const std::size_t name = line.find("| `"), end = line.find("` |");
    if (!line.starts_with("| ") || name == std::string::npos || end == std::string::npos) continue;
    const std::string ours = line.substr(name + 3, end - name - 3);
    if (ours.find_first_of("`:{[. ") != std::string::npos) continue;  // more than a name
    CHECK(schema.find('"' + ours + '"') != std::string::npos);
    ++names;
  }
  CHECK(names > 150);
}

TEST_CASE("every example configuration is right") {
  TemporaryFolder folder;
  for (const auto& entry : fs::recursive_directory_iterator(repository_file("configs"))) {
    const bool is_part = entry.path().filename() == "imagenet.yaml";  // others extend it
    if (entry.path().extension() != ".yaml" || is_part) continue;
    const Outcome outcome = run_program(folder, "config check --no-data " + entry.path().string());
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  }
}

TEST_CASE("bench-allreduce checks every result and writes JSON") {
  TemporaryFolder folder;
  const Outcome outcome =
      run_program(folder, "bench-allreduce --devices [cpu:0,cpu:1,cpu:2] -b 8 -e 64K -f 16 --json bench.json");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out.find("busbw") != std::string::npos);
  const json results = parsed(read_text_file(folder / "bench.json"))["results"];
  REQUIRE_FALSE(results.empty());
  for (const json& result : results) {
    CHECK(result["wrong"] == 0);
    for (const char* key : {"algorithm", "size", "count", "type", "time_us", "algbw", "busbw"})
      CHECK(result.contains(key));
  }
  CHECK(run_program(folder, "bench-allreduce --devices [cpu:0] -b 8 -e 8").exit_code == 0);
  CHECK(run_program(folder, "bench-allreduce -b 8 -e 8 --aggregation-method tree").exit_code == 0);
  CHECK(run_program(folder, "bench-allreduce --aggregation-method trees").exit_code == 2);
  CHECK(run_program(folder, "bench-allreduce --algorithms [rings]").exit_code == 2);
}

TEST_CASE("a file for results that cannot be written is refused before any work") {
  TemporaryFolder folder;
  for (const char* const command : {"bench-allreduce", "eval run"}) {
    const Outcome outcome = run_program(folder, fmt::format("{} --json none/results.json", command));
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK(contains(outcome.err, "--json: cannot write none/results.json"));
  }
  write_file(folder / "before.json", "before");
  CHECK(run_program(folder, "bench-allreduce --algorithms [rings] --json before.json").exit_code == 2);
  CHECK(read_text_file(folder / "before.json") == "before");
}

TEST_CASE("devices lists what `devices: all` would use") {
  TemporaryFolder folder;
  const Outcome outcome = run_program(folder, "devices");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out.starts_with("cpu:0"));
}

TEST_CASE("devices --libraries lists each library's file, or where it was looked for") {
  TemporaryFolder folder;
  const Outcome outcome = run_program(folder, "devices --libraries");
  if (outcome.out.starts_with("no GPU")) {  // a build without CUDA
    CHECK(outcome.exit_code == 1);
    return;
  }
  CHECK(outcome.exit_code == (contains(outcome.out, "missing: ") ? 1 : 0));
  for (const char* name : {"cuDNN", "cuBLASLt", "NCCL"}) CHECK(contains(outcome.out, name));
}

}  // namespace
}  // namespace mirrortrain::testing::commands_test
