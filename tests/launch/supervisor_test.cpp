#include <doctest/doctest.h>

#include <algorithm>

#include "launched.h"

namespace mirrortrain::testing {
namespace {

TEST_CASE("the first to fail is named with its last ten lines, and its exit code is the launcher's") {
  LaunchFolder tasks(R"sh(ready
[ $me = worker1 ] || exec sleep 1000
while [ "$(ls ready.* | wc -l)" -lt 3 ]; do sleep 0.02; done
i=0; while [ $i -lt 20 ]; do i=$((i + 1)); echo "line $i"; done
echo "cannot go on" >&2
exit 3
)sh");
  const Outcome outcome = tasks.launch("workers=3 grace=0.1");
  CHECK(outcome.exit_code == 3);
  CHECK(has(outcome.err, "launch: worker 1 ended with exit code 3; waiting up to 0.1 s for the others to end\n"));
  CHECK(has(outcome.err, "launch: after 0.1 s: signal 15 (SIGTERM) to worker 0, worker 2\n"));
  const std::size_t report = outcome.err.find("first: worker 1 ended with exit code 3; its last lines:\n");
  REQUIRE(report != std::string::npos);
  const std::vector<std::string> lines = lines_of(outcome.err.substr(report));
  REQUIRE(lines.size() == 11);
  CHECK(std::ranges::count(lines, "  cannot go on") == 1);
  CHECK(std::ranges::count(lines, "  line 20") == 1);
  CHECK(std::ranges::count(lines, "  line 10") == 0);
}

TEST_CASE("a task that is killed gives 128 + the signal") {
  LaunchFolder tasks("[ $me = worker0 ] || exec sleep 1000\nkill -KILL $$\n");
  const Outcome outcome = tasks.launch("workers=2 grace=0");
  CHECK(outcome.exit_code == 137);
  CHECK(has(outcome.err, "first: worker 0 was killed by signal 9 (SIGKILL); it had written nothing\n"));
}

TEST_CASE("survivors that end by themselves get no signal and no blame") {
  LaunchFolder tasks(R"(trap 'echo "got a signal"; exit 9' TERM
ready
if [ $me = worker0 ]; then while [ ! -e ready.worker1 ]; do sleep 0.02; done; kill -SEGV $$; fi
while pid=$(cat ready.worker0 2>/dev/null); [ -z "$pid" ] || kill -0 $pid 2>/dev/null; do sleep 0.02; done
echo "worker 0 is gone"
exit 1
)");
  const Outcome outcome = tasks.launch("workers=2 grace=20");
  CHECK(outcome.exit_code == 139);
  CHECK(has(outcome.err, "first: worker 0 was killed by signal 11 (SIGSEGV)"));
  CHECK(has(outcome.out, "[worker 1] worker 0 is gone\n"));
  CHECK_FALSE(has(outcome.out, "got a signal"));
}

TEST_CASE("a task that ends as another has failed is not the first to fail, though it ends first") {
  // Worker 2 says so of worker 1, and that of worker 0, which ends last.
  LaunchFolder tasks(R"sh(case $me in
worker2) echo "error: worker 1 (127.0.0.1:4101) ended unexpectedly; worker 2 was in step 7" >&2; echo > two; exit 1 ;;
worker1) while [ ! -e two ]; do sleep 0.02; done; sleep 0.1
  echo "worker 0 (127.0.0.1:4100), the chief, failed: the disk is full" >&2; echo > one; exit 1 ;;
worker0) while [ ! -e one ]; do sleep 0.02; done; sleep 0.3; echo "the disk is full" >&2; exit 5 ;;
esac
)sh");
  const Outcome outcome = tasks.launch("workers=3 grace=20");
  CHECK(outcome.exit_code == 5);
  CHECK(has(outcome.err, "launch: worker 2 ended with exit code 1, as worker 1 has failed; waiting up to 20 s"));
  CHECK(has(outcome.err, "first: worker 0 ended with exit code 5; its last lines:\n  the disk is full\n"));
}

TEST_CASE("a task that the others had not heard from, or that was behind them, is the first to fail") {
  for (const char* const says : {"has not been heard from for 5 s", "is behind the others in step 3 (worker 0: x)"}) {
    LaunchFolder tasks(std::string(R"sh(ready
if [ $me = worker1 ]; then trap '' TERM; while true; do sleep 0.02; done; fi
while [ ! -e ready.worker1 ]; do sleep 0.02; done
echo "error: worker 1 (127.0.0.1:4101) )sh") +
                       says + "; worker 0 was in step 7\" >&2\nexit 1\n");
    const Outcome outcome = tasks.launch("workers=2 grace=0.1 kill=0.1");
    CHECK(outcome.exit_code == 1);
    CHECK(has(outcome.err, "launch: worker 0 ended with exit code 1, as worker 1 "));
    CHECK(has(outcome.err, "launch: after 0.1 s: signal 9 (SIGKILL) to worker 1\n"));
    CHECK(has(outcome.err,
              "first: worker 1 stalled, and did not end when the others had; the last lines of worker 0:"
              "\n  error: worker 1 (127.0.0.1:4101) "));
  }
}

TEST_CASE("a failure is the task's own where nobody else's is known, or where two blame each other") {
  for (const char* const other : {"exit 0", "echo 'error: worker 1 (a:1) failed: x' >&2; exit 4"}) {
    LaunchFolder tasks(std::string(R"sh([ $me = worker0 ] && {
while [ ! -e ready.worker1 ] || kill -0 $(cat ready.worker1) 2>/dev/null; do sleep 0.02; done
)sh") + other + R"sh(; }
ready
echo "error: worker 0 (127.0.0.1:4101) failed: no reason" >&2
exit 3
)sh");
    const Outcome outcome = tasks.launch("workers=2 grace=20");
    CHECK(outcome.exit_code == 3);
    CHECK(has(outcome.err, "first: worker 1 ended with exit code 3"));
  }
}

TEST_CASE("a task that saves and fails after SIGTERM still tells what ended the others") {
  LaunchFolder tasks(R"sh(ready
if [ $me = worker0 ]; then trap 'exit 2' TERM; while true; do sleep 0.02; done; fi
while [ ! -e ready.worker0 ]; do sleep 0.02; done; sleep 0.1
echo "worker 0 (127.0.0.1:4101), the chief, failed: no folder" >&2
exit 1
)sh");
  CHECK(tasks.launch("workers=2 grace=0.1").exit_code == 2);
}

TEST_CASE("who does not end at SIGTERM is killed") {
  LaunchFolder tasks(R"([ $me = worker0 ] || { trap '' TERM; ready; while true; do sleep 0.05; done; }
while [ ! -e ready.worker1 ]; do sleep 0.02; done
exit 4
)");
  const Outcome outcome = tasks.launch("workers=2 grace=0.1 kill=0.2");
  CHECK(outcome.exit_code == 4);
  CHECK(has(outcome.err, "launch: after 0.1 s: signal 15 (SIGTERM) to worker 1\n"));
  CHECK(has(outcome.err, "launch: after 0.2 s: signal 9 (SIGKILL) to worker 1\n"));
  CHECK(has(outcome.err, "first: worker 0 ended with exit code 4"));
}

TEST_CASE("a server that serves on when all others are done is stopped, which is no failure") {
  LaunchFolder tasks("case $me in ps*) exec sleep 1000;; *) echo done;; esac\n");
  const Outcome outcome = tasks.launch("workers=2 ps=2 grace=0.2");
  CHECK(outcome.exit_code == 0);
  CHECK(has(outcome.out, "[chief] done\n"));
  CHECK(has(outcome.err, "launch: after 0.2 s: signal 15 (SIGTERM) to ps 0, ps 1\n"));
  CHECK_FALSE(has(outcome.err, "first:"));
}

TEST_CASE("servers that end by themselves get no signal") {
  LaunchFolder tasks("case $me in ps*) sleep 0.3;; esac\n");
  const Outcome outcome = tasks.launch("workers=1 ps=1 grace=20");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
}

TEST_CASE("a server that fails before the others are done fails the run") {
  LaunchFolder tasks("case $me in ps1) exit 7;; *) exec sleep 1000;; esac\n");
  const Outcome outcome = tasks.launch("workers=1 ps=2 grace=0");
  CHECK(outcome.exit_code == 7);
  CHECK(has(outcome.err, "first: ps 1 ended with exit code 7"));
}

TEST_CASE("the others continue without a task that may leave") {
  LaunchFolder tasks(R"sh(case $me in
worker1) ready; kill -KILL $$ ;;
chief0) while [ ! -e ready.worker1 ] || kill -0 $(cat ready.worker1) 2>/dev/null; do sleep 0.02; done; echo done ;;
*) exec sleep 1000 ;;
esac
)sh");
  const Outcome outcome = tasks.launch("workers=2 ps=1 may_leave=worker grace=0.2");
  CHECK(outcome.exit_code == 0);
  CHECK(has(outcome.err, "launch: worker 1 was killed by signal 9 (SIGKILL); the others continue without it\n"));
  CHECK(has(outcome.out, "[chief] done\n"));
  // Who serves the chief alone does not outlive it.
  CHECK(has(outcome.err, "launch: after 0.2 s: signal 15 (SIGTERM) to worker 0, ps 0\n"));
  CHECK_FALSE(has(outcome.err, "first:"));
}

TEST_CASE("a task that may leave is started again, unless it would fail in the same way") {
  LaunchFolder tasks(R"sh(case $me in
worker0) echo >> starts; exit 1 ;;
worker1) echo >> mistakes; exit 2 ;;
chief0) while [ "$(cat starts 2>/dev/null | wc -l)" -lt 3 ] || [ ! -e mistakes ]; do sleep 0.02; done; sleep 0.2
  echo "$(cat starts | wc -l) starts, $(cat mistakes | wc -l) mistake" ;;
esac
)sh");
  const Outcome outcome = tasks.launch("workers=2 ps=1 may_leave=worker restarts=2 grace=5");
  CHECK(outcome.exit_code == 0);
  CHECK(has(outcome.err, "launch: worker 0 ended with exit code 1; it is started again\n"));
  CHECK(has(outcome.err, "launch: worker 0 ended with exit code 1; the others continue without it\n"));
  CHECK(has(outcome.err, "launch: worker 1 ended with exit code 2; the others continue without it\n"));
  CHECK(has(outcome.out, "[chief] 3 starts, 1 mistake\n"));
}

TEST_CASE("an evaluator that dies is started again or left, and its last evaluation is waited for") {
  const std::string body = R"sh(case $me in
evaluator0) echo x >> starts; [ $(cat starts | wc -l) = 3 ] || kill -KILL $$
  while [ ! -e over ]; do sleep 0.02; done; sleep 0.5; echo evaluated ;;
worker0) while [ "$(cat starts 2>/dev/null | wc -l)" -lt $MOST ]; do sleep 0.02; done; sleep 0.3; echo > over ;;
esac
)sh";
  LaunchFolder tasks(body);
  const Outcome again = tasks.run("MOST=3 \"$MIRRORTRAIN\" workers=1 evaluator=1 restarts=2 grace=0.1 ./task.sh");
  CHECK(again.exit_code == 0);
  CHECK(has(again.err, "launch: evaluator was killed by signal 9 (SIGKILL); it is started again\n"));
  CHECK(has(again.out, "[evaluator] evaluated\n"));
  CHECK_FALSE(has(again.err, "SIGTERM"));
  LaunchFolder others(body);
  const Outcome left = others.run("MOST=1 \"$MIRRORTRAIN\" workers=1 evaluator=1 grace=0.1 ./task.sh");
  CHECK(left.exit_code == 0);
  CHECK(has(left.err, "launch: evaluator was killed by signal 9 (SIGKILL); "));
  CHECK_FALSE(has(left.err, "first:"));
}

TEST_CASE("a task that may leave and fails when the run is over changes nothing") {
  LaunchFolder tasks("[ $me = worker0 ] && exit 0\nsleep 0.3\nexit 1\n");
  const Outcome outcome = tasks.launch("workers=2 may_leave='worker 1' grace=20");
  CHECK(outcome.exit_code == 0);
  CHECK(has(outcome.err, "launch: worker 1 ended with exit code 1, when the run was over\n"));
}

/// Worker 0, the chief, is stopped; worker 1, which may leave, ends as it hears nothing from it.
const char* const kSilentChief = R"sh(ready
if [ $me = worker0 ]; then exec sleep 1000; fi
while [ ! -e ready.worker0 ]; do sleep 0.02; done
kill -STOP $(cat ready.worker0)
echo "error: worker 0 (a:1), the chief, has not been heard from for 5 s; worker 1 was in step 7" >&2
exit 1
)sh";

TEST_CASE("a chief that is silent to a task that may leave, and to the launcher, fails the run and is killed") {
  LaunchFolder tasks(kSilentChief);
  const Outcome outcome = tasks.launch("workers=2 may_leave='worker 1' restarts=5 grace=0.1 kill=0.2");
  CHECK(outcome.exit_code == 1);
  CHECK(has(outcome.err, "launch: after 0.2 s: signal 9 (SIGKILL) to worker 0\n"));
  CHECK(
      has(outcome.err, "first: worker 0 stalled, and did not end when the others had; the last lines of worker 1:\n"));
  CHECK_FALSE(has(outcome.err, "started again"));
}

TEST_CASE("a chief that writes again after a task called it silent is not") {
  LaunchFolder tasks(R"sh(ready
[ $me = worker0 ] && { sleep 1; echo resumed; sleep 2; echo done; exit 0; }
echo "error: worker 0 (a:1), the chief, has not been heard from for 5 s" >&2
exit 1
)sh");
  const Outcome outcome = tasks.launch("workers=2 may_leave='worker 1' grace=0.1");
  CHECK(outcome.exit_code == 0);
  CHECK(has(outcome.out, "[worker 0] done\n"));
}

TEST_CASE("a program that cannot be started is an error that names it") {
  LaunchFolder tasks("");
  fs::remove(tasks.folder / "task.sh");
  const Outcome outcome = tasks.launch("workers=2");
  CHECK(outcome.exit_code == 99);
  CHECK(outcome.err == "error: cannot start ./task.sh: No such file or directory\n");
}

TEST_CASE("tasks differ in TF_CONFIG, and in their numbers on the machine, alone") {
  LaunchFolder tasks("env | grep -v '^PWD=\\|^OLDPWD=\\|^_=' | sort > env.$me\n");
  REQUIRE(tasks.run("export TF_CONFIG=old KEPT=kept; \"$MIRRORTRAIN\" workers=2 ./task.sh").exit_code == 0);
  const std::string one = read_text_file(tasks.folder / "env.worker0"),
                    two = read_text_file(tasks.folder / "env.worker1");
  CHECK(has(one, "KEPT=kept\n"));
  CHECK_FALSE(has(one, "TF_CONFIG=old"));
  CHECK(one != two);
  std::vector<std::string> a = lines_of(one), b = lines_of(two);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].starts_with("MIRRORTRAIN_LOCAL_RANK=")) continue;
    if (!a[i].starts_with("TF_CONFIG=")) CHECK(a[i] == b[i]);
  }
}

}  // namespace
}  // namespace mirrortrain::testing
