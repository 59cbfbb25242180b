#include "report/console.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
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
                      .seconds = 0.5};
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

TEST_CASE("without a terminal each step event, epoch and evaluation is one plain line") {
  const TemporaryFolder folder;
  std::FILE* out = std::fopen((folder / "log").c_str(), "w");
  const auto writer = make_console_writer(out, {.epochs = 5, .steps = 1175});
  writer->write(ProgressEvent{.step = 1, .epoch = 1});
  writer->write(kStep);
  writer->write(kEpoch);
  writer->write(kTest);
  writer->write(EndEvent{});
  CHECK(read_text_file(folder / "log") ==
        "epoch 1/5  step 100/1175  loss 0.5123  accuracy 0.8100  51,000 examples/s\n"
        "epoch 1/5  done  loss 0.4400  accuracy 0.8400  validation loss 0.4000  validation accuracy 0.8600  1.2 s\n"
        "test  loss 0.3000  accuracy 0.8900  10,000 examples\n");
  std::fclose(out);
}

TEST_CASE("lengths and scores that are not known are left out") {
  const TemporaryFolder folder;
  std::FILE* out = std::fopen((folder / "log").c_str(), "w");
  PlainLines(out, {}).write(StepEvent{.step = 7, .epoch = 2, .examples_per_second = 10});
  CHECK(read_text_file(folder / "log") == "epoch 2  step 7  10 examples/s\n");
  std::fclose(out);
}

TEST_CASE("on a terminal one line is redrawn, and taken away before a line that stays" *
          doctest::skip(no_terminals())) {
  const Terminal terminal(120);
  {
    std::chrono::milliseconds time(0);
    ProgressLine line(terminal.out(), {.epochs = 5, .steps = 200},
                      [&] { return ProgressLine::Clock::time_point(time); });
    line.write(ProgressEvent{.step = 1, .epoch = 1});
    CHECK(terminal.written() == "\repoch 1/5  step 1/200\x1b[K");
    line.write(kStep);
    CHECK(terminal.written() == "");
    time += std::chrono::milliseconds(99);
    line.write(ProgressEvent{.step = 2, .epoch = 1});
    CHECK(terminal.written() == "");  // too soon
    time += std::chrono::milliseconds(901);
    line.write(ProgressEvent{.step = 101, .epoch = 1});
    CHECK(terminal.written() ==
          "\repoch 1/5  step 101/200  loss 0.5123  accuracy 0.8100  51,000 examples/s  1.0 s left\x1b[K");
    time += std::chrono::seconds(98);
    const Scores scores{0.25, {}};
    line.write(ProgressEvent{.step = 199, .epoch = 1, .examples_per_second = 2000, .scores = &scores});
    CHECK(terminal.written() == "\repoch 1/5  step 199/200  loss 0.2500  2,000 examples/s  0.5 s left\x1b[K");
    line.write(kTest);
    CHECK(terminal.written() == "\r\x1b[Ktest  loss 0.3000  accuracy 0.8900  10,000 examples\r\n");
    time += std::chrono::seconds(1);
    line.write(ProgressEvent{.step = 200, .epoch = 1});
    CHECK(contains(terminal.written(), "step 200/200"));
  }
  CHECK(terminal.written() == "\r\x1b[K");  // gone with its writer
}

TEST_CASE("a terminal gets the progress line, anything else plain lines" * doctest::skip(no_terminals())) {
  const Terminal terminal(80);
  make_console_writer(terminal.out(), {})->write(ProgressEvent{.step = 1, .epoch = 1});
  CHECK(terminal.written() == "\repoch 1  step 1\x1b[K\r\x1b[K");
}

TEST_CASE("a progress line never reaches the terminal's last column" * doctest::skip(no_terminals())) {
  const Terminal terminal(41);
  ProgressLine line(terminal.out(), {.epochs = 5, .steps = 1000});
  line.write(kStep);
  line.write(ProgressEvent{.step = 1, .epoch = 1});
  CHECK(terminal.written() == "\repoch 1/5  step 1/1000  loss 0.5123\x1b[K");
}
