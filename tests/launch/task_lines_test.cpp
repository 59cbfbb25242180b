#include "launch/task_lines.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "launched.h"

namespace mirrortrain::testing {
namespace {

TEST_CASE("each line gets its task's name, on the stream on which it was written") {
  LaunchFolder tasks("echo to-out; echo to-err >&2\n");
  const Outcome outcome = tasks.launch("workers=2");
  CHECK(outcome.exit_code == 0);
  std::vector<std::string> out = lines_of(outcome.out), err = lines_of(outcome.err);
  std::ranges::sort(out);
  std::ranges::sort(err);
  CHECK(out == std::vector<std::string>{"[worker 0] to-out", "[worker 1] to-out"});
  CHECK(err == std::vector<std::string>{"[worker 0] to-err", "[worker 1] to-err"});
}

TEST_CASE("a last line without its end gets one, empty lines and bytes of value 0 stay") {
  LaunchFolder tasks(R"(printf 'a\000b\n\nlast'; printf 'also' >&2)");
  const Outcome outcome = tasks.launch("workers=1");
  CHECK(outcome.out == std::string("[worker 0] a\0b\n[worker 0] \n[worker 0] last\n", 43));
  CHECK(outcome.err == "[worker 0] also\n");
}

TEST_CASE("a line of megabytes stays whole") {
  LaunchFolder tasks("head -c 5000000 /dev/zero | tr '\\000' x; echo; echo end\n");
  const std::vector<std::string> lines = lines_of(tasks.launch("workers=1").out);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0] == "[worker 0] " + std::string(5000000, 'x'));
  CHECK(lines[1] == "[worker 0] end");
}

TEST_CASE("lines of eight tasks never mix, and each task's keep their order") {
  LaunchFolder tasks(R"(i=0
while [ $i -lt 10000 ]; do echo "$me line $i abcdefghijklmnopqrstuvwxyz"; i=$((i + 1)); done
)");
  const Outcome outcome = tasks.launch("workers=8");
  REQUIRE(outcome.exit_code == 0);
  std::vector<int> next(8, 0);
  int wrong = 0;
  for (const std::string& line : lines_of(outcome.out)) {
    const auto task = static_cast<std::size_t>(line.size() > 8 ? line[8] - '0' : 9);
    if (task >= 8 ||
        line != fmt::format("[worker {0}] worker{0} line {1} abcdefghijklmnopqrstuvwxyz", task, next[task]++))
      ++wrong;
  }
  CHECK(wrong == 0);
  CHECK(next == std::vector<int>(8, 10000));
}

TEST_CASE("what a task's own children still hold open does not keep its end from being seen") {
  LaunchFolder tasks("sleep 1000 &\necho done\n");
  const Outcome outcome = tasks.launch("workers=1");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.out == "[worker 0] done\n");
}

TEST_CASE("a reader that goes away is told of, and the tasks go on") {
  LaunchFolder tasks("ready; while [ ! -e gone ]; do sleep 0.02; done; echo lost; echo lost; echo kept >&2\n");
  const Outcome outcome =
      tasks.run("{ \"$MIRRORTRAIN\" workers=1 ./task.sh; echo $? > code; } | { wait_for 1; exec <&-; touch gone; }");
  CHECK(has(outcome.err, "[worker 0] kept\n"));
  CHECK(has(outcome.err, "launch: stdout: Broken pipe; what the tasks write there is not passed on any more"));
  CHECK(read_text_file(tasks.folder / "code") == "0\n");
}

TEST_CASE("names are coloured on a terminal alone, each task's in its own colour") {
  const auto first_line = [](bool colour, int number) {
    TemporaryFolder folder;
    const int file = ::open((folder / "out").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    launch::LineOutput to_file(file), unused(2);
    launch::TaskLines lines("worker 0", number, {to_file, unused, colour, false});
    lines.take_out("a\n");
    while (!to_file.is_empty()) to_file.write_some();
    ::close(file);
    return read_text_file(folder / "out");
  };
  CHECK(first_line(false, 0) == "[worker 0] a\n");
  CHECK(first_line(true, 0) == "\x1b[36m[worker 0]\x1b[0m a\n");
  CHECK(first_line(true, 1) == "\x1b[33m[worker 0]\x1b[0m a\n");
}

}  // namespace
}  // namespace mirrortrain::testing
