// Tasks on other machines, with a script in ssh's place that runs the command as sshd does: by a shell, here.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "launched.h"

namespace mirrortrain::testing {
namespace {

struct Hosts : LaunchFolder {
  explicit Hosts(const std::string& body) : LaunchFolder(body) {
    std::ofstream(folder / "ssh.sh") << "echo \"$1\" >> hosts; shift; exec sh -c \"$*\"\n";
  }
  std::string command(const std::string& options) {
    return fmt::format("\"$MIRRORTRAIN\" hosts=a,me@b ssh='sh {0}/ssh.sh' {1} {0}/task.sh ", folder.path().string(),
                       options);
  }
};

TEST_CASE("tasks start on their hosts, with their words and TF_CONFIG, and exit codes come back") {
  Hosts tasks(
      "[ \"$*\" = \"it's \\\"a\\\" \\$word;\" ] && echo \"$TF_CONFIG\"; [ $me = worker1 ] && exit 5; exec sleep "
      "1000\n");
  const Outcome outcome = tasks.run(tasks.command("grace=0") + R"("it's \"a\" \$word;")");
  CHECK(outcome.exit_code == 5);
  CHECK(
      has(outcome.out, R"([worker 1] {"cluster":{"worker":["a:2222","b:2222"]},"task":{"type":"worker","index":1}})"));
  CHECK(has(outcome.err, "first: worker 1 on me@b ended with exit code 5"));
  std::vector<std::string> hosts = lines_of(read_text_file(tasks.folder / "hosts"));
  std::ranges::sort(hosts);
  CHECK(hosts == std::vector<std::string>{"a", "me@b"});
}

TEST_CASE("a task that is killed on its host is told from a lost connection") {
  Hosts tasks("[ $me = worker1 ] && kill -KILL $$; exec sleep 1000\n");
  const Outcome killed = tasks.run(tasks.command("grace=0"));
  CHECK(killed.exit_code == 137);
  CHECK(has(killed.err, "first: worker 1 on me@b was killed by signal 9 (SIGKILL)"));

  Hosts lost("exec sleep 1000\n");
  std::ofstream(lost.folder / "ssh.sh") << "[ $1 = a ] && exec sleep 1000; echo 'no route to host' >&2; exit 255\n";
  const Outcome outcome = lost.run(lost.command("grace=0"));
  CHECK(outcome.exit_code == 255);
  CHECK(has(outcome.err,
            "first: worker 1 on me@b could not be reached by ssh, or the connection ended (exit code "
            "255); its last lines:\n  no route to host\n"));
}

TEST_CASE("a chief that still writes is not silent, though a task says that it hears nothing from it") {
  Hosts tasks(
      R"sh([ $me = worker0 ] && { i=0; while [ $i -lt 40 ]; do i=$((i + 1)); echo step; sleep 0.1; done; exit 0; }
echo "error: worker 0 (a:1), the chief, has not been heard from for 5 s" >&2
exit 1
)sh");
  const Outcome outcome = tasks.run(tasks.command("may_leave='worker 1' grace=0.1"));
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(has(outcome.err, "launch: worker 1 on me@b ended with exit code 1; the others continue without it\n"));
}

TEST_CASE("signals go through the connection") {
  Hosts tasks(R"(trap 'echo "got INT"; exit 130' INT
ready
while true; do sleep 0.02; done
)");
  const Outcome outcome = tasks.run(tasks.command("") + "& wait_for 2; kill -INT $!; wait $!");
  CHECK(outcome.exit_code == 130);
  CHECK(has(outcome.out, "[worker 0] got INT\n"));
  CHECK(has(outcome.out, "[worker 1] got INT\n"));
}

TEST_CASE("no task outlives a launcher that is killed, or its connection") {
  Hosts tasks("trap 'echo TERM >> terms; exit 1' TERM\nready\nwhile true; do sleep 0.02; done\n");
  const Outcome outcome =
      tasks.run(tasks.command("") + "& wait_for 2; kill -KILL $!; ended $(cat ready.worker0) $(cat ready.worker1)");
  CHECK(outcome.exit_code == 0);
  CHECK(read_text_file(tasks.folder / "terms") == "TERM\nTERM\n");
}

TEST_CASE("a task that does not end at SIGTERM is killed once the connection is gone") {
  Hosts tasks("trap '' TERM\nready\nwhile true; do sleep 0.02; done\n");
  const Outcome outcome =
      tasks.run(tasks.command("") + "& wait_for 2; kill -KILL $!; ended $(cat ready.worker0) $(cat ready.worker1)");
  CHECK(outcome.exit_code == 0);
}

TEST_CASE("a folder that a host does not have is the task's failure") {
  Hosts tasks("exec sleep 1000\n");
  std::ofstream(tasks.folder / "ssh.sh") << "shift; exec sh -c \"$(echo \"$*\" | sed 's:/tmp:/nowhere:')\"\n";
  const Outcome outcome = tasks.run(tasks.command("grace=0"));
  CHECK(outcome.exit_code == 2);
  CHECK(has(outcome.err, "/nowhere"));
}

}  // namespace
}  // namespace mirrortrain::testing
