#include <doctest/doctest.h>

#include "launched.h"

namespace mirrortrain::testing {
namespace {

/// As `fit`: ends with 128 + the signal once it has saved what it has.
const char* const kStoppable = R"(trap 'echo "got INT"; exit 130' INT
trap 'echo "got TERM"; exit 143' TERM
ready
while true; do sleep 0.02; done
)";

TEST_CASE("a signal is passed on to every task, once, and the exit code is that of a stopped run") {
  for (const auto& [signal, name, code] :
       {std::tuple{"INT", "INT", 130}, {"TERM", "TERM", 143}, {"HUP", "TERM", 143}}) {
    CAPTURE(signal);
    LaunchFolder tasks(kStoppable);
    const Outcome outcome =
        tasks.run(fmt::format("\"$MIRRORTRAIN\" workers=2 ./task.sh & wait_for 2; kill -{} $!; wait $!", signal));
    CHECK(outcome.exit_code == code);
    CHECK(lines_of(outcome.out).size() == 2);
    CHECK(has(outcome.out, fmt::format("[worker 0] got {}\n", name)));
    CHECK(has(outcome.out, fmt::format("[worker 1] got {}\n", name)));
    CHECK_FALSE(has(outcome.err, "first:"));
  }
}

TEST_CASE("a second signal kills the tasks") {
  LaunchFolder tasks("trap 'echo stopping > stopping' TERM\nready\nwhile true; do sleep 0.02; done\n");
  const Outcome outcome = tasks.run(R"("$MIRRORTRAIN" workers=2 ./task.sh & wait_for 2
kill -TERM $!; while [ ! -e stopping ]; do sleep 0.02; done; kill -TERM $!; wait $!; code=$?
ended $(cat ready.worker0) $(cat ready.worker1) && exit $code)");
  CHECK(outcome.exit_code == 143);
  CHECK(has(outcome.err, "launch: second signal 15 (SIGTERM): signal 9 (SIGKILL) to worker 0, worker 1\n"));
  CHECK_FALSE(has(outcome.err, "first:"));
}

TEST_CASE("tasks that had not begun to catch the signal end the run like a stop") {
  LaunchFolder tasks(
      "ready\n[ $me = worker0 ] && exec sleep 1000\nwhile pid=$(cat ready.worker0); [ -z \"$pid\" ] || kill -0 $pid; "
      "do sleep 0.02; done\n");
  const Outcome outcome = tasks.run("\"$MIRRORTRAIN\" workers=1 ./task.sh & wait_for 1; kill -TERM $!; wait $!");
  CHECK(outcome.exit_code == 143);
  CHECK_FALSE(has(outcome.err, "first:"));
}

TEST_CASE("tasks that do not end at a signal are killed after the grace time, suspended ones too") {
  for (const char* options : {"workers=2", "workers=2 may_leave='worker 1' restarts=3"}) {
    CAPTURE(options);
    LaunchFolder tasks(
        "trap '' INT TERM\nready\n[ $me = worker0 ] && kill -STOP $$\nwhile true; do sleep 0.02; done\n");
    const Outcome outcome = tasks.run(
        fmt::format("\"$MIRRORTRAIN\" {} grace=0.2 kill=0.2 ./task.sh & wait_for 2; kill -INT $!; wait $!", options));
    CHECK(outcome.exit_code == 130);
    CHECK(has(outcome.err, "launch: after 0.4 s: signal 9 (SIGKILL) to worker 0, worker 1\n"));
    CHECK_FALSE(has(outcome.err, "first:"));
  }
}

TEST_CASE("a run that is stopped ends though nobody reads what its tasks wrote") {
  LaunchFolder tasks("trap 'exit 143' TERM\nready\nwhile true; do echo line; done\n");
  const Outcome outcome = tasks.run(R"(mkfifo pipe; sleep 1000 < pipe & reader=$!
"$MIRRORTRAIN" workers=1 grace=0.2 kill=0.2 ./task.sh > pipe & launcher=$!
wait_for 1; sleep 0.5; kill -TERM $launcher; ended $launcher; code=$?
kill $reader; exit $code)");
  CHECK(outcome.exit_code == 0);
}

TEST_CASE("a task that fails while it is stopped is told") {
  LaunchFolder tasks(R"(trap '[ $me = worker0 ] && { echo "disk full" >&2; exit 1; }; exit 143' TERM
ready
while true; do sleep 0.02; done
)");
  const Outcome outcome = tasks.run("\"$MIRRORTRAIN\" workers=2 ./task.sh & wait_for 2; kill -TERM $!; wait $!");
  CHECK(outcome.exit_code == 1);
  CHECK(has(outcome.err, "first: worker 0 ended with exit code 1; its last lines:\n"));
  CHECK(has(outcome.err, "\n  disk full\n"));
}

TEST_CASE("a run that is done when the signal comes is done") {
  LaunchFolder tasks("trap '' TERM\nready\nwhile [ ! -e go ]; do sleep 0.02; done\n");
  const Outcome outcome =
      tasks.run("\"$MIRRORTRAIN\" workers=2 ./task.sh & wait_for 2; kill -TERM $!; sleep 0.1; touch go; wait $!");
  CHECK(outcome.exit_code == 0);
}

TEST_CASE("a signal is passed on while nobody reads what the tasks write") {
  LaunchFolder tasks("trap 'exit 143' TERM\nready\nwhile true; do echo line; done\n");
  const Outcome outcome = tasks.run(R"(mkfifo pipe; sleep 1000 < pipe & reader=$!
"$MIRRORTRAIN" workers=2 ./task.sh > pipe & launcher=$!
wait_for 2; sleep 0.5; kill -TERM $launcher
ended $(cat ready.worker0) $(cat ready.worker1); code=$?
kill $launcher $reader; exit $code)");
  CHECK(outcome.exit_code == 0);
}

TEST_CASE("no task outlives a launcher that is killed") {
  LaunchFolder tasks("ready; exec sleep 1000\n");
  const Outcome outcome = tasks.run(R"("$MIRRORTRAIN" workers=2 ps=1 ./task.sh & wait_for 4
kill -KILL $!; ended $(cat ready.chief0) $(cat ready.worker0) $(cat ready.worker1) $(cat ready.ps0))");
  CHECK(outcome.exit_code == 0);
}

TEST_CASE("a terminal's signals reach the launcher alone: tasks have sessions of their own") {
  LaunchFolder tasks("ready; cut -d' ' -f6 /proc/$$/stat\n");
  const Outcome outcome = tasks.launch("workers=1");
  CHECK(outcome.out == "[worker 0] " + read_text_file(tasks.folder / "ready.worker0"));
}

}  // namespace
}  // namespace mirrortrain::testing
