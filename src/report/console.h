#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "report/event.h"

namespace mirrortrain::report {

/// The length of the run; 0 if unknown.
struct RunLength {
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
  std::int64_t steps_per_epoch = 0;
  std::int64_t validation_batches = 0, test_batches = 0;  ///< of one evaluation
};

/// For log files and pipes, which keep everything: a line for each epoch and evaluation, for the first step event, and
/// for one a minute while there is no other. Of more than a hundred epochs, those that end within ten seconds of the
/// line before have none, but for the last one.
class PlainLines : public Writer {
 public:
  using Clock = std::chrono::steady_clock;
  /// `now` returns the time.
  PlainLines(std::FILE* out, const RunLength& length, std::function<Clock::time_point()> now = Clock::now)
      : out_(out), length_(length), now_(std::move(now)) {}
  PlainLines(const PlainLines&) = delete;
  PlainLines& operator=(const PlainLines&) = delete;
  ~PlainLines() override;

  void write(const Event& event) override;

 private:
  void print(const Event& event);

  std::FILE* out_;
  RunLength length_;
  std::function<Clock::time_point()> now_;
  std::optional<Clock::time_point> last_line_;
  bool has_step_ = false;
  std::optional<EpochEvent> held_back_;  ///< the latest epoch, if it has no line
};

/// Prints nothing.
class NoLines : public Writer {
 public:
  void write(const Event&) override {}
};

/// For terminals: a line that is redrawn at most ten times a second, and a permanent line for each epoch and
/// evaluation. No line is wider than the terminal: the redrawn one drops its least important parts, permanent ones are
/// wrapped.
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
  void measure(const ProgressEvent& progress);
  /// Of the remaining training and evaluations; nullopt if unknown.
  std::optional<double> seconds_left(const ProgressEvent& progress) const;

  std::FILE* out_;
  RunLength length_;
  std::function<Clock::time_point()> now_;
  bool drawn_ = false;
  double latest_rate_ = 0;
  std::vector<double> latest_waiting_;
  Clock::time_point next_draw_;
  // Measurements since the first event.
  std::optional<Clock::time_point> last_time_;
  std::int64_t last_step_ = 0, last_batch_ = 0, steps_ = 0, batches_ = 0;
  double training_seconds_ = 0, evaluation_seconds_ = 0;
};

/// Whether `out` is a terminal on which a line can be redrawn, which excludes TERM=dumb.
bool is_terminal(std::FILE* out);
/// Columns of a terminal: COLUMNS where that is set to a number, else what the terminal says, 80 if unknown.
std::size_t terminal_width(std::FILE* out);

/// Columns that text has to fit in: a terminal's; 0, no limit, if `out` is not a terminal.
std::size_t fitting_width(std::FILE* out);

/// Prints `text`, wrapped if `out` is a terminal; controls but line breaks and tabs, as names may have, are escaped.
void print_fitted(std::FILE* out, const std::string& text);
/// The same for text with tables, which are narrowed first.
void print_narrowed(std::FILE* out, const std::string& text);

/// A progress line if `out` is a terminal, else plain lines; with `quiet` nothing.
std::unique_ptr<Writer> make_console_writer(std::FILE* out, const RunLength& length, bool quiet = false);

}  // namespace mirrortrain::report
