// What a person at a terminal sees.
#include <doctest/doctest.h>

#include <algorithm>

#include "base/utf8.h"
#include "cli/program.h"
#include "cli/pseudo_terminal.h"
#include "error_text.h"

namespace mirrortrain::testing::terminal_test {
namespace {

// An evaluation takes longer than the 100 ms between two drawn lines, on a fast machine too.
constexpr const char* kConfig = R"(data:
  global_batch_size: 32
  train: {format: synthetic, examples: 19200, shape: [16, 16, 3], classes: 10}
  validation: {fraction: 0.75}
  test: {format: synthetic, examples: 640, shape: [16, 16, 3], classes: 10}
model:
  input_shape: [16, 16, 3]
  layers:
    - conv2d: {filters: 64, kernel_size: 3, activation: relu}
    - flatten
    - dense: {units: 10}
loss: {type: sparse_categorical_crossentropy, from_logits: true}
metrics: [accuracy]
optimizer: {type: adam, learning_rate: 0.001}
training: {epochs: 3}
)";

/// Whether the system has no pseudo-terminals (a folder entered with chroot).
bool no_terminals() {
  const int descriptor = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (descriptor >= 0) ::close(descriptor);
  return descriptor < 0;
}

/// A command to type or to copy, which is not broken: the terminal wraps it.
bool is_command(const std::string& line) { return line.starts_with("  mirrortrain "); }

struct Fixture {
  TemporaryFolder folder;
  Fixture() { write_file(folder / "net.yaml", kConfig); }
  Screen fit(const std::string& arguments = "", unsigned short columns = 80, Typing typing = {},
             const std::string& environment = "") {
    fs::remove_all(folder / "runs");
    return run_in_terminal(folder, environment + " exec \"$MIRRORTRAIN\" fit net.yaml " + arguments, columns, typing);
  }
};

TEST_CASE_FIXTURE(Fixture, "no line is wider than the terminal, and steps count within the epoch" *
                               doctest::skip(no_terminals())) {
  for (const unsigned short columns : {80, 50}) {
    CAPTURE(columns);
    // Epochs enough for a moment of validation to be drawn, ten times a second.
    const Screen screen = fit("--set strategy.devices=cpu:0,cpu:1 --set training.epochs=6", columns);
    REQUIRE_MESSAGE(screen.exit_code == 0, screen.text);
    for (const std::string& line : screen.drawn())
      CHECK_MESSAGE((display_width(line) <= columns || is_command(line)), line);
    CHECK(contains(screen.text, "/150"));         // 4800 examples in batches of 32
    CHECK(contains(screen.text, "validation "));  // evaluation has a line too
    CHECK(contains(screen.text, " left"));
    CHECK(contains(screen.text, "val_accuracy "));
  }
}

TEST_CASE_FIXTURE(Fixture, "eval and predict show how far they are, and tables fit" * doctest::skip(no_terminals())) {
  REQUIRE(run_program(folder, "fit net.yaml -q --set strategy.devices=cpu:0,cpu:1 --set training.epochs=1").exit_code ==
          0);
  const auto in_terminal = [&](const std::string& arguments, unsigned short columns = 80) {
    const Screen screen = run_in_terminal(folder, "exec \"$MIRRORTRAIN\" " + arguments, columns);
    CHECK_MESSAGE(screen.exit_code == 0, screen.text);
    return screen;
  };
  CHECK(contains(in_terminal("eval net --split train").text, "train 1/150"));
  CHECK(contains(in_terminal("predict net --output p.csv").text, "predictions 1/10"));
  CHECK_FALSE(contains(in_terminal("predict net").text, "predictions 1/10"));  // they are there themselves
  CHECK_FALSE(contains(in_terminal("eval net -q").text, "test 1/"));
  std::string named = kConfig;
  named.replace(named.find("filters: 64"), 11, "name: " + std::string(90, 'n') + ", filters: 64");
  write_file(folder / "named.yaml", named);
  for (const char* const command :
       {"fit net.yaml --dry-run", "fit named.yaml --dry-run", "config show net.yaml",
        "bench-allreduce --devices cpu:0,cpu:1 -b 8 -e 8", "plan net.yaml --workers 1,2 --network 20us,10Gbit/s",
        "checkpoint list net", "devices", "runs", "data net.yaml", "fit -h", "launch -h",
        "fit net.yaml -q --profile --set training.steps=2",
        "fit named.yaml --profile --set training.steps=2 --set strategy.devices=cpu:0,cpu:1"}) {
    for (const unsigned short columns : {200, 80, 60}) {
      CAPTURE(command);
      for (const std::string& line : in_terminal(command, columns).drawn()) {
        const bool is_one_word = line.find(' ', line.find_first_not_of(" #")) == std::string::npos;
        CHECK_MESSAGE((display_width(line) <= columns || is_one_word || is_command(line)), line);
      }
    }
  }
  const Screen plan = in_terminal("fit named.yaml --dry-run", 60);
  CHECK_MESSAGE(contains(plan.text, "nnn...  [14, 14, 64]"), plan.text);
  CHECK(contains(plan.text, "on_write"));
  CHECK(contains(run_program(folder, "fit named.yaml --dry-run").out, std::string(90, 'n') + "/kernel"));
  CHECK(contains(in_terminal("bench-allreduce --devices cpu:0,cpu:1 -b 8 -e 8", 60).text, "reduction..."));
  CHECK(contains(in_terminal("bench-allreduce --devices cpu:0,cpu:1 -b 8 -e 8", 80).text, "reduction_t..."));
}

TEST_CASE_FIXTURE(Fixture, "a table of runs keeps its figures on a narrow terminal by shortening names" *
                               doctest::skip(no_terminals())) {
  const std::string name(60, 'n');
  REQUIRE(run_program(folder, "fit net.yaml --set training.steps=2 --run-dir runs/" + name).exit_code == 0);
  for (const unsigned short columns : {80, 60}) {
    CAPTURE(columns);
    const Screen screen = run_in_terminal(folder, "exec \"$MIRRORTRAIN\" runs", columns);
    CHECK_MESSAGE(contains(screen.text, "best"), screen.text);
    CHECK(contains(screen.text, "nnn..."));
    for (const std::string& line : screen.drawn()) CHECK_MESSAGE(display_width(line) <= columns, line);
  }
}

TEST_CASE_FIXTURE(Fixture, "a first run ends with its page and what to type next, later ones with the page alone") {
  const std::string quick = "fit net.yaml --set training.steps=2";
  const Outcome first = run_program(folder, quick), second = run_program(folder, quick);
  CHECK_MESSAGE(contains(first.err, "page: runs/net/report.html\n\nnext:\n  mirrortrain report net\n"), first.err);
  for (const char* const line :
       {"  mirrortrain eval net --data FILE\n", "  mirrortrain predict net --data FILE -o predictions.csv\n",
        "  mirrortrain export net -o net.onnx\n"})
    CHECK_MESSAGE(contains(first.err, line), line);
  CHECK_FALSE(contains(first.out, "next:"));
  CHECK(contains(second.err, "page: runs/net-2/report.html\n"));
  CHECK_FALSE(contains(second.err, "next:"));
  fs::remove_all(folder / "runs");
  CHECK_FALSE(contains(run_program(folder, quick + " -q").err, "next:"));
  fs::remove_all(folder / "runs");
  const Outcome elsewhere = run_program(folder, quick + " --run-dir own --set logging.report=false");
  CHECK_FALSE(contains(elsewhere.err, "next:"));
  CHECK_FALSE(contains(elsewhere.err, "page:"));
}

TEST_CASE_FIXTURE(Fixture, "a terminal's width is COLUMNS where that is set" * doctest::skip(no_terminals())) {
  const Screen screen = fit("--dry-run", 200, {}, "COLUMNS=60");
  REQUIRE_MESSAGE(screen.exit_code == 0, screen.text);
  std::size_t widest = 0;
  for (const std::string& line : screen.drawn()) widest = std::max(widest, display_width(line));
  CHECK(widest <= 60);
}

TEST_CASE_FIXTURE(Fixture, "a terminal that calls itself dumb gets no escapes" * doctest::skip(no_terminals())) {
  const Screen screen = fit("--set data.train.examples=400 --set data.global_batch_size=9000", 80, {}, "TERM=dumb");
  CHECK(screen.exit_code == 0);
  CHECK(contains(screen.text, "warning: --set data.global_batch_size"));
  CHECK_FALSE(contains(screen.text, "\x1b"));
}

TEST_CASE_FIXTURE(Fixture,
                  "warnings are yellow, errors red, unless colors are not wanted" * doctest::skip(no_terminals())) {
  const std::string warns = "-q --set data.global_batch_size=9000 --set training.steps=1 ";
  CHECK(contains(fit(warns).text, "\x1b[33mwarning: "));
  CHECK(contains(fit("--set training.epoch=1").text, "\x1b[31m--set training.epoch: unknown key"));
  CHECK_FALSE(contains(fit(warns, 80, {}, "NO_COLOR=1").text, "\x1b[33m"));
  CHECK_FALSE(contains(fit(warns + "--color never").text, "\x1b[33m"));
  CHECK(contains(fit(warns + "--color always", 80, {}, "NO_COLOR=1").text, "\x1b[33m"));
  CHECK(contains(run_program(folder, "fit net.yaml --color always " + warns).err, "\x1b[33m"));
  CHECK(contains(run_program(folder, "--color always fit net.yaml " + warns).err, "\x1b[33m"));  // before the command
  CHECK(contains(run_program(folder, "fit net.yaml " + warns + " --color=always").err, "\x1b[33m"));
  CHECK_FALSE(contains(run_program(folder, "fit net.yaml " + warns).err, "\x1b"));
}

TEST_CASE_FIXTURE(Fixture,
                  "Ctrl-C is acknowledged at once, and the end says how to resume" * doctest::skip(no_terminals())) {
  const Screen screen = fit("--set training.epochs=1000", 80, {"left", "\x03"});
  CHECK(screen.exit_code == 130);
  CHECK(contains(screen.text, "stopping after this step; press again to quit at once"));
  CHECK_MESSAGE(contains(screen.text, "mirrortrain fit --resume runs/net"), screen.text);
}

TEST_CASE_FIXTURE(Fixture, "a help text fits 80 columns and names every option with a line of help") {
  for (const char* const command :
       {"", "fit", "eval", "bench-allreduce", "verify", "plan", "config", "config check", "launch"}) {
    CAPTURE(command);
    const Outcome outcome = run_program(folder, std::string(command) + " --help");
    CHECK(outcome.exit_code == 0);
    std::string rest = outcome.out;
    while (!rest.empty()) {
      const std::string line = rest.substr(0, rest.find('\n'));
      rest.erase(0, std::min(line.size() + 1, rest.size()));
      CHECK_MESSAGE(display_width(line) <= 80, line);
    }
    CHECK(outcome.out == run_program(folder, std::string(command) + " -h").out);
  }
}

}  // namespace
}  // namespace mirrortrain::testing::terminal_test
