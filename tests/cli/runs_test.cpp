// Comparing runs: `mirrortrain runs` and `fit --sweep`.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::runs_test {
namespace {

using nlohmann::json;

struct Fixture {
  TemporaryFolder folder;
  Outcome fit(const std::string& arguments) {
    return run_program(folder, "fit " + repository_file("configs/tiny.yaml") +
                                   " --set strategy.devices=cpu:0 --set training.epochs=2 " + arguments);
  }
  json runs(const std::string& arguments = "") {
    const Outcome outcome = run_program(folder, "runs --json - " + arguments);
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    return parsed(outcome.out)["runs"];
  }
};

TEST_CASE_FIXTURE(Fixture, "runs lists each run's state, its validation and what differs") {
  REQUIRE(fit("--set name=a").exit_code == 0);
  REQUIRE(fit("--set name=b --set optimizer.learning_rate=0.5").exit_code == 0);
  const json all = runs();
  REQUIRE(all.size() == 2);
  CHECK(all[0]["name"] == "a");
  CHECK(all[0]["status"] == "done");
  CHECK(all[1]["differs"]["optimizer.learning_rate"] == "0.5");
  CHECK(all[0]["differs"].size() == 1);
  std::vector<double> accuracies;
  for (const json& event : events_of(folder / "runs/b/metrics.jsonl")) {
    if (event["event"] == "epoch") accuracies.push_back(event["validation"]["metrics"]["accuracy"]);
    if (event["event"] == "end") CHECK(all[1]["steps"] == event["step"]);
  }
  CHECK(all[1]["metric"] == "accuracy");
  CHECK(all[1]["last"] == accuracies.back());
  CHECK(all[1]["best"] == *std::max_element(accuracies.begin(), accuracies.end()));

  const json by_loss = runs("--metric loss --sort best");
  CHECK(by_loss[0]["best"].get<double>() <= by_loss[1]["best"].get<double>());
  const Outcome table = run_program(folder, "runs");
  CHECK(contains(table.out, "optimizer.learning_rate=0.5"));
  CHECK(run_program(folder, "runs none").exit_code == 2);
  CHECK(run_program(folder, "runs --sort speed").exit_code == 2);
}

TEST_CASE_FIXTURE(Fixture, "of different models runs tells what was given, not every default of what others lack") {
  REQUIRE(fit("--set name=a").exit_code == 0);
  REQUIRE(run_program(folder, "fit " + repository_file("configs/binary-classifier.yaml") +
                                  " --set strategy.devices=cpu:0 --set name=b --set optimizer=rmsprop -q")
              .exit_code == 0);
  const Outcome table = run_program(folder, "runs");
  CHECK(contains(table.out, "model.layers[0]={dense: {units: 16, activation: relu}}"));
  CHECK(contains(table.out, "model.layers[1].dense.units=64"));
  CHECK(contains(table.out, "model.layers[2]={dense: {units: 10}}"));
  CHECK(contains(table.out, "optimizer.type=rmsprop"));
  CHECK_FALSE(contains(table.out, "kernel_initializer"));
  CHECK_FALSE(contains(table.out, "rho"));
  CHECK_FALSE(contains(table.out, "=-"));
  std::string rest = table.out;
  while (!rest.empty()) {
    const std::string line = rest.substr(0, rest.find('\n'));
    CHECK_MESSAGE(line.size() < 1200, line);
    rest.erase(0, std::min(line.size() + 1, rest.size()));
  }
  const json all = runs();
  CHECK(all[1]["differs"]["model.layers[2]"] == "-");
  CHECK(all[0]["differs"].contains("optimizer.type"));
  CHECK_FALSE(all[0]["differs"].contains("optimizer.rho"));

  const Outcome unknown = run_program(folder, "runs --metric acc");
  CHECK(unknown.exit_code == 2);
  CHECK_MESSAGE(contains(unknown.err, "none of these runs has it; they have accuracy, loss"), unknown.err);
}

TEST_CASE_FIXTURE(Fixture, "a sweep trains a run for each combination, as fit alone would, and prints their table") {
  const Outcome outcome = fit("--set name=s --sweep optimizer.learning_rate=0.1,0.01 --sweep seed=1,2 -q");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const json all = runs("runs/s-sweep");
  REQUIRE(all.size() == 4);
  CHECK(all[0]["name"] == "learning_rate=0.01,seed=1");
  CHECK(all[3]["differs"]["optimizer.learning_rate"] == "0.1");
  CHECK(all[3]["differs"]["seed"] == "2");
  for (const json& run : all) CHECK(contains(outcome.out, run["name"].get<std::string>()));
  REQUIRE(fit("--run-dir alone --set optimizer.learning_rate=0.1 --set seed=2").exit_code == 0);
  CHECK(read_text_file(folder / "alone/model.safetensors") ==
        read_text_file(folder / "runs/s-sweep/learning_rate=0.1,seed=2/model.safetensors"));
  CHECK(run_program(folder, "eval s-sweep/learning_rate=0.1,seed=2").exit_code == 0);
}

TEST_CASE_FIXTURE(Fixture, "a signal to a sweep alone stops its run, which can be resumed, and starts no other") {
  const auto stopped_by = [&](const char* signal, const char* run) {
    return run_script(
        folder,
        fmt::format(
            "\"$MIRRORTRAIN\" fit {} --set strategy.devices=cpu:0 --set training.epochs=100000 --sweep seed=1,2 "
            "--run-dir {} -q & pid=$!\n"
            "while [ ! -s {}/seed=1/metrics.jsonl ] && kill -0 $pid; do sleep 0.01; done\n"
            "kill -{} $pid; wait $pid; code=$?\n"
            "for i in $(seq 1000); do grep -q '\"end\"' {}/seed=1/metrics.jsonl && break; sleep 0.01; done; exit $code",
            repository_file("configs/tiny.yaml"), run, run, signal, run));
  };
  const Outcome outcome = stopped_by("TERM", "t");
  CHECK(outcome.exit_code == 143);
  CHECK_MESSAGE(contains(outcome.err, "1 of 2 runs were not started"), outcome.err);
  CHECK(events_of(folder / "t/seed=1/metrics.jsonl").back()["status"] == "stopped");
  CHECK_FALSE(std::filesystem::exists(folder / "t/seed=2"));
  CHECK(stopped_by("KILL", "k").exit_code == 137);
  CHECK(events_of(folder / "k/seed=1/metrics.jsonl").back()["status"] == "stopped");
}

TEST_CASE_FIXTURE(Fixture, "a sweep with a wrong value starts nothing") {
  const Outcome outcome = fit("--sweep optimizer.learning_rate=0.1,fast");
  CHECK(outcome.exit_code == 2);
  CHECK_MESSAGE(contains(outcome.err, "--sweep optimizer.learning_rate: "), outcome.err);
  CHECK(contains(fit("--sweep seed=1,1").err, "--sweep seed: 1 is listed twice"));
  CHECK(contains(fit("--sweep seed=1,2 --sweep seed=3").err, "--sweep seed: given twice; list all its values in one"));
  CHECK(contains(fit("--sweep learning_rate").err, "expected KEY=A,B,C"));
  CHECK(contains(fit("--side-by-side 2").err, "--sweep"));
  CHECK_FALSE(fs::exists(folder / "runs"));
}

TEST_CASE_FIXTURE(Fixture, "a sweep's values may stand in brackets") {
  REQUIRE(fit("--sweep 'seed=[1, 2]' --run-dir s -q").exit_code == 0);
  CHECK(runs("s").size() == 2);
}

TEST_CASE_FIXTURE(Fixture, "a sweep's runs may train side by side") {
  if (run_script(folder, "test $(nproc) -ge 2").exit_code != 0) return;
  const Outcome outcome = fit("--set name=s --sweep seed=1,2,3 --side-by-side 2");
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  const json all = runs("runs/s-sweep");
  REQUIRE(all.size() == 3);
  for (const json& run : all) CHECK(run["status"] == "done");
}

TEST_CASE_FIXTURE(Fixture, "lines of runs are bounded where there is no terminal, too") {
  std::string layers = "[flatten";
  for (int i = 0; i < 40; ++i)
    layers += ", {dense: {units: 8, name: a_dense_layer_of_a_long_name_" + std::to_string(i) + "}}";
  REQUIRE(fit("--set name=a").exit_code == 0);
  REQUIRE(fit("--set name=b --set 'model.layers=" + layers + ", {dense: {units: 10}}]'").exit_code == 0);
  std::istringstream lines(run_program(folder, "runs").out);
  for (std::string line; std::getline(lines, line);) CHECK_MESSAGE(line.size() <= 160, line);
}

}  // namespace
}  // namespace mirrortrain::testing::runs_test
