// One way to name a run: its name, its folder, a checkpoint.
#include <doctest/doctest.h>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::run_names_test {
namespace {

using nlohmann::json;

/// Two short runs, whose last checkpoint is step-000004.
struct Runs {
  TemporaryFolder folder;
  Runs() {
    const std::string fit = "fit " + repository_file("configs/tiny.yaml") + " --set training.steps=4 ";
    REQUIRE(run_program(folder, fit + "--set checkpoint.every_steps=2 --set name=first").exit_code == 0);
    REQUIRE(run_program(folder, fit + "--set name=second").exit_code == 0);
  }
  json eval(const std::string& arguments) {
    const Outcome outcome = run_program(folder, "eval " + arguments + " --json -");
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    return parsed(outcome.out);  // JSON alone
  }
};

TEST_CASE_FIXTURE(Runs, "eval takes a run's name, its folder, and a checkpoint's folder or name") {
  const json expected = eval("first");
  CHECK(expected["step"] == 4);
  for (const char* const run : {"runs/first", "runs/first/", "./runs/first", "first/step-000004",
                                "runs/first/checkpoints/step-000004/", "first --checkpoint step-000004"}) {
    CAPTURE(run);
    CHECK(eval(run) == expected);
  }
  for (const char* const run : {"step-000002", "first/step-000002", "runs/first/checkpoints/step-000002",
                                "first --checkpoint step-000002", "second --checkpoint first/step-000002"}) {
    CAPTURE(run);
    CHECK(eval(run)["step"] == 2);
  }
}

TEST_CASE_FIXTURE(Runs, "a run that does not exist is refused with the runs that do") {
  for (const char* const command : {"eval", "predict", "checkpoint list", "config show", "fit --resume"}) {
    CAPTURE(command);
    const Outcome outcome = run_program(folder, fmt::format("{} third", command));
    CHECK(outcome.exit_code == 2);
    CHECK(contains(outcome.err, "there is no run third"));
    CHECK(contains(outcome.err, "runs/ has first, second"));
    CHECK(contains(run_program(folder, fmt::format("{} firts", command)).err, "did you mean 'first'?"));
  }
  for (const char* const given :
       {"first/step-000999", "runs/first/checkpoints/step-000999", "first --checkpoint step-000999"}) {
    CAPTURE(given);
    const Outcome outcome = run_program(folder, fmt::format("eval {}", given));
    CHECK(outcome.exit_code == 2);
    CHECK_MESSAGE(contains(outcome.err, "runs/first has no checkpoint step-000999; it has step-000002, step-000004"),
                  outcome.err);
  }
  CHECK(contains(run_program(folder, "eval step-000004").err, "several runs have a checkpoint step-000004"));
}

TEST_CASE_FIXTURE(Runs, "predict and checkpoint take a run's name, its folder, and a checkpoint's") {
  const std::string expected = run_program(folder, "predict first").out;
  CHECK(expected.starts_with("index,prediction\n"));
  for (const char* const run : {"runs/first/", "first/step-000004", "runs/first/checkpoints/step-000004"}) {
    CAPTURE(run);
    CHECK(run_program(folder, fmt::format("predict {}", run)).out == expected);
  }
  CHECK(run_program(folder, "predict step-000002").out != expected);
  const std::string all = run_program(folder, "checkpoint check first").out;
  CHECK(contains(all, "step-000002"));
  CHECK(contains(all, "step-000004"));
  CHECK(run_program(folder, "checkpoint check runs/first/").out == all);
  const std::string one = run_program(folder, "checkpoint check first/step-000002").out;
  CHECK(contains(one, "step-000002"));
  CHECK_FALSE(contains(one, "step-000004"));
}

TEST_CASE_FIXTURE(Runs, "config show takes a run") {
  const Outcome outcome = run_program(folder, "config show first");
  CHECK(outcome.exit_code == 0);
  CHECK(contains(outcome.out, "name: first"));
}

TEST_CASE_FIXTURE(Runs, "fit --resume takes a run without its configuration, and config.yaml says how") {
  const std::string configuration = read_text_file(folder / "runs/first/config.yaml");
  CHECK(
      configuration.starts_with("# Train it again: mirrortrain fit runs/first/config.yaml; resume it: mirrortrain fit "
                                "--resume runs/first\n"));
  for (const char* const run : {"first", "runs/first/"}) {
    CAPTURE(run);
    const int steps = std::string(run) == "first" ? 6 : 8;
    const Outcome outcome = run_program(folder, fmt::format("fit --resume {} --set training.steps={}", run, steps));
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
    if (steps == 6) CHECK(contains(outcome.err, "resuming from step 4"));
  }
  CHECK(eval("first")["step"] == 8);
  const Outcome older = run_program(folder, "fit --resume first/step-000006");
  CHECK(older.exit_code == 2);
  CHECK(contains(older.err, "a run resumes from its newest checkpoint, step-000008"));
  CHECK(contains(run_program(folder, "fit").err, "CONFIG is required"));
}

TEST_CASE("a configuration's name means its newest run in every command, and a folder or NAME-2 that one") {
  const TemporaryFolder folder;
  const std::string fit =
      "fit " + repository_file("configs/tiny.yaml") + " --set logging.report=false --set training.steps=";
  REQUIRE(run_program(folder, fit + "4 --set name=net").exit_code == 0);
  REQUIRE(run_program(folder, fit + "5 --set name=net-2").exit_code == 0);  // a name of its own that looks numbered
  REQUIRE(run_program(folder, fit + "6 --set name=net").exit_code == 0);
  REQUIRE(fs::exists(folder / "runs/net-3"));
  const auto step = [&](const std::string& run) {
    const Outcome outcome = run_program(folder, "eval " + run + " --json -");
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    return parsed(outcome.out)["step"].get<int>();
  };
  CHECK(step("net") == 6);
  CHECK(step("net-3") == 6);
  CHECK(step("net-2") == 5);
  CHECK(step("runs/net") == 4);
  CHECK(step("runs/net/") == 4);
  CHECK(step("net/step-000006") == 6);
  CHECK(step(repository_file("configs/tiny.yaml") + " --set name=net") == 6);
  const std::string said = "net: runs/net-3, the newest of the 2 runs of this name; a folder names another: runs/net";
  for (const char* const command :
       {"eval net", "predict net", "report net", "checkpoint list net", "config show net"}) {
    CAPTURE(command);
    const Outcome outcome = run_program(folder, command);
    CHECK(outcome.exit_code == 0);
    CHECK_MESSAGE(contains(outcome.err, said), outcome.err);
    CHECK_FALSE(contains(outcome.out, said));
  }
  CHECK(fs::exists(folder / "runs/net-3/report.html"));
  CHECK_FALSE(fs::exists(folder / "runs/net/report.html"));
  CHECK_FALSE(contains(run_program(folder, "eval net-2").err, "the newest of"));
  CHECK(contains(run_program(folder, "eval net/step-000004").err, "runs/net-3 has no checkpoint step-000004"));
  // The older one, resumed, is the newest.
  REQUIRE(run_program(folder, fit + "8 --set name=net --resume runs/net").exit_code == 0);
  CHECK(step("net") == 8);
  CHECK(step("net-3") == 6);
}

TEST_CASE("report takes a sweep's name for all its runs") {
  const TemporaryFolder folder;
  REQUIRE(run_program(folder, "fit " + repository_file("configs/tiny.yaml") +
                                  " --set training.steps=2 --set name=net --sweep seed=1,2")
              .exit_code == 0);
  const Outcome outcome = run_program(folder, "report net-sweep --no-predictions");
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(outcome.out == "report.html\n");
  CHECK(run_program(folder, "report runs/net-sweep --no-predictions -o again.html").exit_code == 0);
  CHECK(read_text_file(folder / "report.html") == read_text_file(folder / "again.html"));
  CHECK(contains(run_program(folder, "report runs --no-predictions").err, "there is no run runs"));
}

}  // namespace
}  // namespace mirrortrain::testing::run_names_test
