#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>

#include "report/event.h"

namespace mirrortrain::report {

/// How far the run goes; 0 where it is not known.
struct RunLength {
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
};

/// One line a step event, epoch and evaluation: for log files and pipes.
class PlainLines : public Writer {
 public:
  PlainLines(std::FILE* out, const RunLength& length) : out_(out), length_(length) {}
  void write(const Event& event) override;

 private:
  std::FILE* out_;
  RunLength length_;
};

/// For terminals: one line that is redrawn at most ten times a second, and a line that stays for each epoch and
/// evaluation.
class ProgressLine : public Writer {
 public:
  using Clock = std::chrono::steady_clock;
  /// `now` returns the time.
  ProgressLine(std::FILE* out, const RunLength& length, std::function<Clock::time_point()> now = Clock::now);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() override;

  void write(const Event& event) override;
  /// Removes the line from the screen until the next event, so that others can print.
  void clear();

 private:
  void draw(const ProgressEvent& progress);

  std::FILE* out_;
  RunLength length_;
  std::function<Clock::time_point()> now_;
  bool drawn_ = false;
  std::optional<Scores> latest_;
  double latest_rate_ = 0;
  std::vector<double> latest_waiting_;
  Clock::time_point next_draw_, first_time_;
  std::int64_t first_step_ = -1;
};

/// Whether somebody may watch `out`.
bool is_terminal(std::FILE* out);

/// A progress line where `out` is a terminal, else plain lines.
std::unique_ptr<Writer> make_console_writer(std::FILE* out, const RunLength& length);

}  // namespace mirrortrain::report
