// The command line of launch: what it refuses, prints and starts again. What it starts is a script, through one in
// ssh's place that runs commands here.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "cli/program.h"
#include "error_text.h"

namespace mirrortrain::testing::launch_test {
namespace {

std::string multi_worker() { return repository_file("configs/multi-worker-fashion.yaml"); }

struct Fixture {
  TemporaryFolder folder;

  Outcome launch(const std::string& arguments) { return run_program(folder, "launch " + arguments); }

  /// On two hosts, with a script for the program that may use $me ("worker0") and `wait_for FILE`.
  Outcome launch_script(const std::string& body, const std::string& options, const std::string& command) {
    std::ofstream(folder / "ssh") << "shift; exec sh -c \"$*\"\n";
    std::ofstream(folder / "program") << "#!/bin/sh\nme=$(echo \"$TF_CONFIG\" | sed "
                                         "'s/.*\"type\":\"\\([a-z]*\\)\",\"index\":\\([0-9]*\\).*/\\1\\2/')\n"
                                      << "wait_for() { while [ ! -e \"$1\" ]; do sleep 0.02; done; }\n"
                                      << body;
    fs::permissions(folder / "program", fs::perms::owner_all);
    return launch(fmt::format("--hosts a,b --ssh 'sh {0}/ssh' --remote-executable {0}/program {1} -- {2}",
                              folder.path().string(), options, command));
  }
};

TEST_CASE_FIXTURE(Fixture, "what launch cannot start is refused before anything is started") {
  const auto refused = [&](const std::string& arguments, const std::string& message) {
    const Outcome outcome = launch(arguments);
    CAPTURE(arguments);
    CHECK(outcome.exit_code == 2);
    CHECK_MESSAGE(contains(outcome.err, message), outcome.err);
    CHECK_FALSE(contains(outcome.err, "[worker"));
    CHECK_FALSE(fs::exists(folder / "runs"));
  };
  refused("--workers 2", "what is to be started goes after `--`");
  refused("-- fit " + multi_worker(), "give --workers N, or --hosts");
  refused("--workers 2 -- verify " + multi_worker(), "found 'verify'");
  refused("--workers 2 -- fit " + multi_worker() + " --epochs 3", "--epochs");
  refused("--workers 2 -- fit", "fit needs a configuration file after `--`");
  refused("--workers 2 --port 3000 -- fit " + multi_worker(), "--port: belongs to --hosts");
  refused("--hosts a,-oProxyCommand=x -- fit " + multi_worker(), "--hosts: '-oProxyCommand=x' is no host");
  refused("--hosts a,b --restarts 1 -- fit " + multi_worker(), "give fit a --run-dir");
  refused("--workers 2 -- fit " + repository_file("configs/tiny.yaml"),
          "launch without --ps starts tasks of multi_worker_mirrored; write that in the file, or add --set "
          "strategy.type=multi_worker_mirrored");
  refused("--workers 2 --ps 1 -- fit " + multi_worker(), "launch with --ps starts tasks of parameter_server");
}

TEST_CASE_FIXTURE(Fixture, "mistakes in the configuration are told once") {
  const Outcome outcome = launch("--workers 3 -- fit " + multi_worker() + " --set optimizer.rate=1 --set seed=x");
  CHECK(outcome.exit_code == 2);
  CHECK(contains(outcome.err, "2 errors"));
  CHECK(outcome.err.find("unknown key") == outcome.err.rfind("unknown key"));
}

TEST_CASE_FIXTURE(Fixture, "help of what is to be started is printed") {
  const Outcome outcome = launch("--workers 2 -- fit --help");
  CHECK(outcome.exit_code == 0);
  CHECK(contains(outcome.out, "--run-dir"));
}

TEST_CASE_FIXTURE(Fixture, "printed command lines have each task's TF_CONFIG") {
  const Outcome outcome =
      launch("--print --hosts node1,me@node2 -- fit " + multi_worker() + " --set 'metrics=[accuracy]'");
  REQUIRE(outcome.exit_code == 0);
  CHECK(contains(outcome.out, "# worker 1 on me@node2\ncd "));
  CHECK(contains(outcome.out, R"(TF_CONFIG='{"cluster":{"worker":["node1:2222","node2:2222"]},"task":{"type":"worker",)"
                              R"("index":1}}' )"));
  CHECK(contains(outcome.out, "multi-worker-fashion.yaml --set 'metrics=[accuracy]'\n"));
}

TEST_CASE_FIXTURE(Fixture, "a quiet launch starts quiet tasks") {
  const std::string rest = "--print --hosts a,b -- fit " + multi_worker();
  CHECK(contains(launch("-q " + rest).out, "multi-worker-fashion.yaml --quiet\n"));
  CHECK_FALSE(contains(launch(rest).out, "quiet"));
  CHECK_FALSE(contains(launch("-q " + rest + " -v").out, "quiet"));
}

TEST_CASE_FIXTURE(Fixture, "options of launch and of what it launches are told apart without `--`") {
  const std::string fit = "fit " + multi_worker();
  const Outcome expected = launch("--print --hosts a,b --workers 3 -- " + fit + " -q --run-dir r --set seed=1");
  REQUIRE(expected.exit_code == 0);
  for (const std::string& arguments : {"--print --hosts 'a, b ' --workers 3 " + fit + " -q --run-dir r --set seed=1",
                                       fit + " --hosts=a,b -q --run-dir r --workers 3 --set seed=1 --print",
                                       "--print " + fit + " --workers 3 --hosts a,b -- -q --run-dir r --set seed=1"}) {
    CAPTURE(arguments);
    CHECK(launch(arguments).out == expected.out);
  }
  CHECK(contains(launch("--workers 2 " + fit + " --epochs 3").err, "did you mean --set training.epochs=3?"));
  CHECK(contains(launch("--print --hosts a, b -- " + fit).err,
                 "as in: launch --hosts a,b -- fit config.yaml; found 'b'"));
}

TEST_CASE_FIXTURE(Fixture, "tasks that fail are started again with the run that they began") {
  const Outcome outcome = launch_script(R"(echo "$me $*"
case "$*" in *--resume*) exit 0;; esac
if [ $me = worker0 ]; then mkdir run; : > run/config.yaml; : > begun; exec sleep 1000; fi
wait_for begun; exit 1
)",
                                        "--restarts 2 --grace 0", "fit " + multi_worker() + " --run-dir run");
  CHECK(outcome.exit_code == 0);
  CHECK(contains(outcome.err, "launch: worker 1 on b ended with exit code 1; its last lines:"));
  CHECK(contains(outcome.err, "launch: restart 1 of 2: fit " + multi_worker() + " --run-dir run --resume\n"));
  CHECK(contains(outcome.out, "[worker 0] worker0 fit " + multi_worker() + " --run-dir run --resume\n"));
  CHECK(contains(outcome.out, "[worker 1] worker1 fit " + multi_worker() + " --run-dir run --resume\n"));
  CHECK_FALSE(contains(outcome.err, "restart 2"));
}

TEST_CASE_FIXTURE(Fixture, "a worker that is killed here is started again from its last checkpoint") {
  REQUIRE(
      run_program(folder, "fit " + multi_worker() + " --set strategy.type=mirrored --set training.steps=1").exit_code ==
      0);
  for (const auto& [option, run, resumed] :
       {std::tuple("", "runs/multi-worker-fashion-2", " --resume runs/multi-worker-fashion-2\n"),
        std::tuple(" --run-dir named", "named", " --run-dir named --resume\n")}) {
    CAPTURE(run);
    const Outcome outcome = run_script(folder, fmt::format(R"("$MIRRORTRAIN" launch --workers 1 --restarts 1 -- fit {} \
  --set training.epochs=99 --set training.steps=300 --set checkpoint.every_steps=2{} & launcher=$!
while ! ls {}/checkpoints/step-?????? >/dev/null 2>&1; do sleep 0.02; done
kill -KILL $(cat /proc/$launcher/task/$launcher/children)
wait $launcher)",
                                                           multi_worker(), option, run));
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(contains(outcome.err, "launch: worker 0 was killed by signal 9 (SIGKILL); its last lines:"));
    CHECK_MESSAGE(contains(outcome.err, resumed), outcome.err);
    CHECK(contains(outcome.err, "[worker 0] resuming from step "));
    CHECK(events_of(folder / run / "metrics.jsonl").back()["step"] == 300);
  }
  CHECK_FALSE(fs::exists(folder / "runs/multi-worker-fashion-3"));
}

TEST_CASE_FIXTURE(Fixture,
                  "tasks that fail before there is a run are started as the first time, so often and no more") {
  const Outcome outcome = launch_script("echo \"$*\" >> starts.$me; [ $me = worker1 ] && exit 7; exec sleep 1000\n",
                                        "--restarts 2 --grace 0", "fit " + multi_worker() + " --run-dir run");
  CHECK(outcome.exit_code == 7);
  CHECK(contains(outcome.err, "restart 2 of 2"));
  const std::string starts = read_text_file(folder / "starts.worker1");
  CHECK(std::ranges::count(starts, '\n') == 3);
  CHECK_FALSE(contains(starts, "--resume"));
}

TEST_CASE_FIXTURE(Fixture, "a folder that held another run before the start is not resumed, whoever fails") {
  fs::create_directory(folder / "run");
  std::ofstream(folder / "run/config.yaml") << "name: other\n";
  const Outcome outcome = launch_script(R"(echo "$*" >> starts.$me; [ $me = worker1 ] && exit 7
exec sleep 1000
)",
                                        "--restarts 1 --grace 0", "fit " + multi_worker() + " --run-dir run");
  CHECK(outcome.exit_code == 7);
  const std::string line = "fit " + multi_worker() + " --run-dir run\n";
  CHECK(read_text_file(folder / "starts.worker1") == line + line);
}

TEST_CASE_FIXTURE(Fixture, "an occupied run folder is refused by the chief alone, with its exit code") {
  for (int i = 0; i < 3; ++i) {
    fs::create_directories(folder / "run");
    std::ofstream(folder / "run/config.yaml") << "name: other\n";
    const Outcome outcome =
        launch("--workers 2 --restarts 1 -- fit " + multi_worker() +
               " --set data.global_batch_size=8 --set strategy.threads_per_replica=1 --run-dir run");
    CHECK_MESSAGE(outcome.exit_code == 2, outcome.err);
    CHECK(contains(outcome.err, "launch: worker 0 ended with exit code 2; its last lines:"));
    CHECK_FALSE(contains(outcome.err, "restart"));
    CHECK(read_text_file(folder / "run/config.yaml") == "name: other\n");
  }
}

TEST_CASE_FIXTURE(Fixture, "what would fail in the same way is not started again") {
  for (const int code : {2, 127, 129, 130, 143}) {
    const Outcome outcome = launch_script(fmt::format("exit {}\n", code), "--restarts 2 --grace 0",
                                          "fit " + multi_worker() + " --run-dir run");
    CHECK(outcome.exit_code == code);
    CHECK_FALSE(contains(outcome.err, "restart"));
  }
}

TEST_CASE_FIXTURE(Fixture, "a run that its tasks were to resume anyway is resumed as it was asked for") {
  const Outcome outcome = launch_script(R"(echo "$*" >> starts.$me
[ $me = worker0 ] || exec sleep 1000
[ -e second ] && exit 3; : > second; exit 4
)",
                                        "--restarts 1 --grace 0", "fit " + multi_worker() + " --resume old");
  CHECK(outcome.exit_code == 3);
  const std::string line = "fit " + multi_worker() + " --resume old\n";
  CHECK(read_text_file(folder / "starts.worker0") == line + line);
}

TEST_CASE_FIXTURE(Fixture, "tasks get a token from launch, which no command line shows") {
  const std::string command = "fit " + multi_worker() + " --run-dir run";
  // Two tasks; the fake ssh runs them here.
  const std::string script = "echo \"$MIRRORTRAIN_TOKEN\" >> tokens; ps -o args -p $$ >> arguments; exit 0\n";
  const auto tokens = [&](const std::string& more) {
    fs::remove(folder / "tokens");
    const Outcome outcome = launch_script(script, "", command + more);
    CHECK_FALSE(contains(outcome.err, "token"));
    std::istringstream lines(read_text_file(folder / "tokens"));
    std::set<std::string> different;
    for (std::string line; std::getline(lines, line);) different.insert(line);
    return different;
  };
  const std::set<std::string> made = tokens("");
  REQUIRE(made.size() == 1);
  CHECK(made.begin()->size() == 64);
  CHECK(tokens("") != made);
  CHECK_FALSE(contains(read_text_file(folder / "arguments"), *made.begin()));
  CHECK(tokens(" --set strategy.cluster.token_file=token") == std::set<std::string>{""});
}

}  // namespace
}  // namespace mirrortrain::testing::launch_test
