#include "report/console.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <sstream>
#include <string>

#include "base/files.h"
#include "error_text.h"
#include "temporary_folder.h"

using namespace mirrortrain;
using namespace mirrortrain::report;

namespace {

const StepEvent kStep{.step = 100,
                      .epoch = 1,
                      .scores = Scores{0.5123, {{"accuracy", 0.81}}},
                      .learning_rate = 0.001,
                      .examples_per_second = 51000,
                      .seconds = 1.5};
const EpochEvent kEpoch{.step = 235,
                        .epoch = 1,
                        .scores = Scores{0.44, {{"accuracy", 0.84}}},
                        .validation = Scores{0.4, {{"accuracy", 0.86}}},
                        .seconds = 1.2};
const EvaluationEvent kTest{"test", 1175, 10000, {0.3, {{"accuracy", 0.89}}}};

/// Whether the system has no pseudo-terminals (a folder entered with chroot).
bool no_terminals() {
  const int descriptor = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (descriptor >= 0) ::close(descriptor);
  return descriptor < 0;
}

/// A terminal of its own whose screen's bytes can be read.
class Terminal {
 public:
  explicit Terminal(unsigned short columns) {
    keeper_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(keeper_ >= 0);
    ::grantpt(keeper_);
    ::unlockpt(keeper_);
    out_ = std::fopen(::ptsname(keeper_), "w");
    REQUIRE(out_ != nullptr);
    const winsize size{24, columns, 0, 0};
    ::ioctl(keeper_, TIOCSWINSZ, &size);
    ::fcntl(keeper_, F_SETFL, O_NONBLOCK);
  }
  ~Terminal() {
    std::fclose(out_);
    ::close(keeper_);
  }
  std::FILE* out() const { return out_; }
  /// What has come since the last call. The system hands it over in pieces, a moment after it was written.
  std::string written() const {
    std::string text;
    pollfd waiting{keeper_, POLLIN, 0};
    while (::poll(&waiting, 1, 50) > 0 && (waiting.revents & POLLIN) != 0) {
      char bytes[4096];
      const ssize_t count = ::read(keeper_, bytes, sizeof bytes);
      text.append(bytes, count > 0 ? static_cast<std::size_t>(count) : 0);
    }
    return text;
  }

 private:
  int keeper_;
  std::FILE* out_;
};

}  // namespace

TEST_CASE("without a terminal the first steps, epochs and evaluations are plain lines") {
  const TemporaryFolder folder;
  std::FILE* out = std::fopen((folder / "log").c_str(), "w");
  const auto writer = make_console_writer(out, {.epochs = 5, .steps = 1175, .steps_per_epoch = 235});
  writer->write(ProgressEvent{.step = 1, .epoch = 1});
  writer->write(kStep);
  writer->write(kEpoch);
  writer->write(kTest);
  writer->write(EndEvent{});
  CHECK(read_text_file(folder / "log") ==
        "epoch 1/5  100/235  loss 0.5123  accuracy 0.8100  51,000 examples/s\n"
        "epoch 1/5  done  loss 0.4400  accuracy 0.8400  val_loss 0.4000  val_accuracy 0.8600  1.2 s\n"
        "test  loss 0.3000  accuracy 0.8900  10,000 examples\n");
  std::fclose(out);
}

TEST_CASE("a log gets a line of steps once a minute, and of very many epochs one in ten seconds and the last") {
  const TemporaryFolder folder;
  const std::string log = folder / "log";
  std::chrono::seconds time(0);
  const auto now = [&] { return PlainLines::Clock::time_point(time); };
  /// The lines of a run whose events come at these seconds; a step at a negative one.
  const auto lines = [&](std::int64_t epochs, const std::vector<int>& seconds) {
    std::FILE* const out = std::fopen(log.c_str(), "w");
    {
      PlainLines writer(out, {.epochs = epochs}, now);
      std::int64_t number = 0;
      for (const int second : seconds) {
        time = std::chrono::seconds(std::abs(second));
        ++number;
        if (second < 0) {
          writer.write(StepEvent{.step = number, .epoch = 1, .examples_per_second = 1});
        } else {
          writer.write(EpochEvent{.step = number, .epoch = number, .seconds = 1});
        }
      }
    }
    std::fclose(out);
    std::string numbers;
    std::istringstream text(read_text_file(log));
    for (std::string line; std::getline(text, line);) {
      const bool is_step = line.find("step") != std::string::npos;
      const std::string after = line.substr(is_step ? line.find("step ") + 5 : 6);
      numbers += (is_step ? " s" : " e") + after.substr(0, after.find_first_of(" /"));
    }
    return numbers;
  };
  CHECK(lines(3, {-1, -2, -60, -61, -119, -121}) == " s1 s4 s6");
  CHECK(lines(3, {-1, 50, -62, -109, -110}) == " s1 e2 s5");  // an epoch's line will do
  CHECK(lines(3, {1, 2, 3}) == " e1 e2 e3");
  CHECK(lines(1000, {1, 2, 3, 11, 12, 13}) == " e1 e4 e6");
  CHECK(lines(1000, {1, 2, 30}) == " e1 e3");
}

TEST_CASE("controls in names are printed as escapes") {
  const TemporaryFolder folder;
  std::FILE* out = std::fopen((folder / "log").c_str(), "w");
  print_fitted(out, "a\x1b[31mred: 1\n\tb: 2\n");
  print_narrowed(out, "a\x1b]52;c;eA==\a: 3\n");
  std::fclose(out);
  CHECK(read_text_file(folder / "log") == "a\\x1b[31mred: 1\n\tb: 2\na\\x1b]52;c;eA==\\x07: 3\n");
}

TEST_CASE("COLUMNS says how wide a terminal is") {
  const char* const before = std::getenv("COLUMNS");
  const std::string kept = before != nullptr ? before : "";
  ::setenv("COLUMNS", "123", 1);
  CHECK(terminal_width(stdout) == 123);
  ::unsetenv("COLUMNS");
  const std::size_t of_terminal = terminal_width(stdout);
  for (const char* const none : {"", "0", "-5", "12x", "wide"}) {
    ::setenv("COLUMNS", none, 1);
    CHECK(terminal_width(stdout) == of_terminal);
  }
  before != nullptr ? ::setenv("COLUMNS", kept.c_str(), 1) : ::unsetenv("COLUMNS");
}

TEST_CASE("lengths and scores that are not known are left out") {
  const TemporaryFolder folder;
  std::FILE* out = std::fopen((folder / "log").c_str(), "w");
  PlainLines(out, {}).write(StepEvent{.step = 7, .epoch = 2, .examples_per_second = 10, .seconds = 5});
  PlainLines(out, {}).write(StepEvent{.step = 7, .epoch = 2, .examples_per_second = 10, .seconds = 0.5});
  CHECK(read_text_file(folder / "log") == "epoch 2  step 7  10 examples/s\nepoch 2  step 7\n");
  std::fclose(out);
}

TEST_CASE("on a terminal one line is redrawn, and taken away before a line that stays" *
          doctest::skip(no_terminals())) {
  const Terminal terminal(120);
  {
    std::chrono::milliseconds time(0);
    ProgressLine line(terminal.out(), {.epochs = 5, .steps = 200, .steps_per_epoch = 150},
                      [&] { return ProgressLine::Clock::time_point(time); });
    line.write(ProgressEvent{.step = 1, .epoch = 1});
    CHECK(terminal.written() == "\repoch 1/5  1/150\x1b[K");
    line.write(kStep);
    CHECK(terminal.written() == "");
    time += std::chrono::milliseconds(99);
    line.write(ProgressEvent{.step = 2, .epoch = 1});
    CHECK(terminal.written() == "");  // too soon
    time += std::chrono::milliseconds(901);
    line.write(ProgressEvent{.step = 101, .epoch = 1});
    CHECK(terminal.written() == "\repoch 1/5  101/150  51,000 examples/s  1.0 s left\x1b[K");
    time += std::chrono::seconds(98);
    const Scores scores{0.25, {}};
    line.write(ProgressEvent{.step = 199, .epoch = 2, .examples_per_second = 2000, .scores = &scores});
    CHECK(terminal.written() == "\repoch 2/5  49/150  loss 0.2500  2,000 examples/s  0.5 s left\x1b[K");
    line.write(kTest);
    CHECK(terminal.written() == "\r\x1b[Ktest  loss 0.3000  accuracy 0.8900  10,000 examples\r\n");
    time += std::chrono::seconds(1);
    line.write(ProgressEvent{.step = 200, .epoch = 2});
    CHECK(contains(terminal.written(), "50/150"));
  }
  CHECK(terminal.written() == "\r\x1b[K");  // gone with its writer
}

TEST_CASE("evaluations have a progress line of their own and count in the time left" * doctest::skip(no_terminals())) {
  const Terminal terminal(80);
  std::chrono::milliseconds time(0);
  ProgressLine line(terminal.out(),
                    {.epochs = 2, .steps = 20, .steps_per_epoch = 10, .validation_batches = 4, .test_batches = 2},
                    [&] { return ProgressLine::Clock::time_point(time); });
  const auto after = [&](int milliseconds, const ProgressEvent& event) {
    time += std::chrono::milliseconds(milliseconds);
    line.write(event);
    return terminal.written();
  };
  after(0, {.step = 0, .epoch = 1});
  // Of 10 steps in 10 s a step takes 1 s, and until one is measured a batch of an evaluation a third of that.
  CHECK(contains(after(10'000, {.step = 10, .epoch = 1}), "epoch 1/2  10/10  12 s left"));
  // 10 steps, 3 + 4 batches of validation and 2 of the test, at 0.2 s each.
  CHECK(after(200, {.step = 10, .epoch = 1, .split = "validation", .batch = 1, .batches = 4}) ==
        "\repoch 1/2  validation 1/4  12 s left\x1b[K");
  CHECK(contains(after(10'000, {.step = 20, .epoch = 2}), "0.4 s left"));
  CHECK(after(200, {.step = 20, .epoch = 2, .split = "test", .batch = 1, .batches = 2}) ==
        "\rtest 1/2  0.2 s left\x1b[K");
}

TEST_CASE("a terminal gets the progress line, anything else plain lines, and who wants quiet nothing" *
          doctest::skip(no_terminals())) {
  ::setenv("TERM", "xterm", 1);
  const Terminal terminal(80);
  make_console_writer(terminal.out(), {})->write(ProgressEvent{.step = 1, .epoch = 1});
  CHECK(terminal.written() == "\repoch 1  step 1\x1b[K\r\x1b[K");
  make_console_writer(terminal.out(), {}, true)->write(kTest);
  CHECK(terminal.written() == "");
  ::setenv("TERM", "dumb", 1);
  make_console_writer(terminal.out(), {})->write(kTest);
  CHECK(terminal.written() == "test  loss 0.3000  accuracy 0.8900  10,000 examples\r\n");
}

TEST_CASE("what matters least is left out of a progress line, the time left last; lines that stay go on below" *
          doctest::skip(no_terminals())) {
  const Scores scores{0.5123, {{"accuracy", 0.81}, {"top_k_accuracy", 0.97}}};
  const auto drawn = [&](unsigned short columns) {
    const Terminal terminal(columns);
    std::chrono::milliseconds time(0);
    ProgressLine line(terminal.out(), {.epochs = 5, .steps = 1000, .steps_per_epoch = 200},
                      [&] { return ProgressLine::Clock::time_point(time); });
    line.write(ProgressEvent{.step = 1, .epoch = 1});
    terminal.written();
    time += std::chrono::seconds(99);
    line.write(ProgressEvent{.step = 100, .epoch = 1, .examples_per_second = 51000, .scores = &scores});
    return terminal.written();
  };
  CHECK(
      drawn(110) ==
      "\repoch 1/5  100/200  loss 0.5123  accuracy 0.8100  top_k_accuracy 0.9700  51,000 examples/s  15:00 left\x1b[K");
  CHECK(drawn(90) == "\repoch 1/5  100/200  loss 0.5123  accuracy 0.8100  top_k_accuracy 0.9700  15:00 left\x1b[K");
  CHECK(drawn(62) == "\repoch 1/5  100/200  loss 0.5123  accuracy 0.8100  15:00 left\x1b[K");
  CHECK(drawn(41) == "\repoch 1/5  100/200  15:00 left\x1b[K");
  CHECK(drawn(20) == "\repoch 1/5  100/200\x1b[K");

  const Terminal terminal(60);
  ProgressLine(terminal.out(), {.epochs = 5}).write(kEpoch);
  CHECK(terminal.written() ==
        "epoch 1/5  done  loss 0.4400  accuracy 0.8400\r\n  val_loss 0.4000  val_accuracy 0.8600  1.2 s\r\n");
}
