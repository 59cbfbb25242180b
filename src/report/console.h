#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "report/event.h"

namespace mirrortrain::report {

/// How far the run goes; 0 where it is not known.
struct RunLength {
  std::int64_t epochs = 0;
  std::int64_t steps = 0;  ///< in the whole run
  std::int64_t steps_per_epoch = 0;
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
  ProgressLine(std::FILE* out, const RunLength& length);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() override;

  void write(const Event& event) override;
  /// Takes the line off the screen until the next event, before somebody else prints.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void draw(const ProgressEvent& progress);
  double seconds_left(const ProgressEvent& progress, Clock::time_point now);

  std::FILE* out_;
  RunLength length_;
  bool drawn_ = false;
  Scores latest_;
  Clock::time_point next_draw_, first_time_;
  std::int64_t first_step_ = -1;
};

/// A progress line where `out` is a terminal, else plain lines.
std::unique_ptr<Writer> make_console_writer(std::FILE* out, const RunLength& length);

}  // namespace mirrortrain::report
