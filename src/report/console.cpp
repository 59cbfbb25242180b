#include "report/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "report/fitted.h"
#include "report/format.h"

namespace mirrortrain::report {
namespace {

/// A part of a line. If the line is too long, parts of the highest rank are dropped first.
struct Part {
  std::string text;
  int rank = 0;
};
using Parts = std::vector<Part>;
enum Rank { kWhere, kTimeLeft, kLoss, kMetric, kRate, kState, kWaiting };

std::string number_text(const StateReading::Number& number) {
  if (const auto* integer = std::get_if<std::int64_t>(&number)) return std::to_string(*integer);
  return float_text(static_cast<float>(std::get<double>(number)));  // the precision of a copy
}

std::string counted(std::string_view what, std::int64_t number, std::int64_t of) {
  return of > 0 ? fmt::format("{} {}/{}", what, number, of) : fmt::format("{} {}", what, number);
}

/// "epoch 1/5  65/145": the steps of the epoch.
void put_where(Parts& parts, std::int64_t epoch, std::int64_t step, const RunLength& length) {
  parts.push_back({counted("epoch", epoch, length.epochs), kWhere});
  const std::int64_t in_epoch = length.steps_per_epoch;
  parts.push_back({in_epoch > 0 ? fmt::format("{}/{}", step > 0 ? (step - 1) % in_epoch + 1 : 0, in_epoch)
                                : counted("step", step, length.steps),
                   kWhere});
}

/// `prefix`: "val_" for validation, as in Keras.
void put(Parts& parts, std::string_view prefix, const Scores& scores) {
  parts.push_back({fmt::format("{}loss {}", prefix, score_text(scores.loss)), kLoss});
  for (const auto& [name, value] : scores.metrics) {
    parts.push_back({fmt::format("{}{} {}", prefix, name, score_text(value)), kMetric});
  }
}

/// "counter 6", followed by the copies if they differ from the value.
void put(Parts& parts, const std::vector<StateReading>& state) {
  for (const StateReading& reading : state) {
    const auto differs = [&](const StateReading::Number& copy) { return !reading.value || copy != *reading.value; };
    std::string text = reading.name + " " + (reading.value ? number_text(*reading.value) : "-");
    if (std::any_of(reading.replicas.begin(), reading.replicas.end(), differs)) {
      std::string copies;
      for (const auto& copy : reading.replicas) copies += (copies.empty() ? "" : ", ") + number_text(copy);
      text += " [" + copies + "]";
    }
    parts.push_back({std::move(text), kState});
  }
}

/// The longest wait of any lane; omitted for a single lane.
void put_waiting(Parts& parts, const std::vector<double>& waiting) {
  if (waiting.size() < 2) return;
  parts.push_back(
      {fmt::format("waiting for replicas {:.1f}%", 100 * *std::max_element(waiting.begin(), waiting.end())), kWaiting});
}

void put_straggler(Parts& parts, const std::optional<std::pair<std::string, double>>& straggler) {
  if (!straggler) return;
  parts.push_back({fmt::format("waited for {} {:.1f}%", straggler->first, 100 * straggler->second), kWaiting});
}

/// Rates of shorter runs say more of their first steps than of the others.
constexpr double kLeastMeasuredSeconds = 1;

std::string rate_text(double examples_per_second) {
  return fmt::format("{} examples/s", with_thousands(static_cast<std::int64_t>(examples_per_second)));
}

std::size_t width_of(const Parts& parts) {
  std::size_t width = 0;
  for (const Part& part : parts) width += display_width(part.text) + (width > 0 ? 2 : 0);
  return width;
}

/// As many parts as fit in `width` columns.
Parts fitting(Parts parts, std::size_t width) {
  while (width_of(parts) > width) {
    const auto rank = [](const Part& a, const Part& b) { return a.rank < b.rank; };
    // Removes the last part of the highest rank.
    parts.erase(std::next(std::max_element(parts.rbegin(), parts.rend(), rank)).base());
  }
  return parts;
}

/// The parts on as many lines as needed; lines after the first are indented. `width` 0: on one line.
std::string joined(const Parts& parts, std::size_t width = 0) {
  std::string text;
  std::size_t filled = 0;  // columns used in the last line
  for (const Part& part : parts) {
    const std::size_t columns = display_width(part.text);
    if (filled > 0 && width > 0 && filled + 2 + columns > width) {
      text += "\n";
      filled = 0;
    }
    if (!text.empty()) text += "  ", filled += 2;
    text += part.text;
    filled += columns;
  }
  return text;
}

Parts parts_of(const ProgressEvent&, const RunLength&) { return {}; }
Parts parts_of(const HistogramsEvent&, const RunLength&) { return {}; }
Parts parts_of(const PicturesEvent&, const RunLength&) { return {}; }
Parts parts_of(const CallbackEvent&, const RunLength&) { return {}; }  // reported in the log
Parts parts_of(const EndEvent&, const RunLength&) { return {}; }

Parts parts_of(const StepEvent& event, const RunLength& length) {
  Parts parts;
  put_where(parts, event.epoch, event.step, length);
  if (event.epoch_scores) {
    put(parts, "", *event.epoch_scores);
  } else if (event.scores) {
    put(parts, "", *event.scores);
  }
  put(parts, event.state);
  if (event.seconds >= kLeastMeasuredSeconds) parts.push_back({rate_text(event.examples_per_second), kRate});
  put_waiting(parts, event.waiting);
  if (event.waiting_for_data)
    parts.push_back({fmt::format("waiting for data {:.1f}%", 100 * *event.waiting_for_data), kWaiting});
  return parts;
}

Parts parts_of(const EpochEvent& event, const RunLength& length) {
  Parts parts = {{counted("epoch", event.epoch, length.epochs), kWhere}, {"done", kWhere}};
  if (event.scores) put(parts, "", *event.scores);
  if (event.validation) put(parts, "val_", *event.validation);
  put(parts, event.state);
  put_straggler(parts, event.straggler);
  parts.push_back({duration_text(event.seconds), kTimeLeft});
  return parts;
}

Parts parts_of(const EvaluationEvent& event, const RunLength&) {
  Parts parts = {{event.split, kWhere}};
  put(parts, "", event.scores);
  parts.push_back({fmt::format("{} examples", with_thousands(event.examples)), kRate});
  return parts;
}

/// Ignores errors, such as a full device or a closed pipe: training continues.
void show(std::FILE* out, const std::string& text) {
  std::fputs(text.c_str(), out);
  std::fflush(out);
}

/// `width` 0: on one line, however long.
void print_line(std::FILE* out, const Event& event, const RunLength& length, std::size_t width) {
  const Parts parts = std::visit([&](const auto& held) { return parts_of(held, length); }, event);
  if (parts.empty()) return;
  show(out, joined(parts, width) + "\n");
}

std::int64_t positive(std::int64_t number) { return std::max<std::int64_t>(0, number); }

}  // namespace

PlainLines::~PlainLines() {
  if (held_back_) print(Event(*held_back_));
}

void PlainLines::print(const Event& event) {
  print_line(out_, event, length_, 0);
  last_line_ = now_();
  held_back_.reset();
}

void PlainLines::write(const Event& event) {
  constexpr std::int64_t kManyEpochs = 100;
  constexpr std::chrono::seconds kBetweenSteps(60), kBetweenManyEpochs(10);
  const auto is_due = [&](Clock::duration between) { return !last_line_ || now_() - *last_line_ >= between; };
  if (std::holds_alternative<StepEvent>(event)) {
    if (has_step_ && !is_due(kBetweenSteps)) return;
    has_step_ = true;
    print(event);
  } else if (const auto* const epoch = std::get_if<EpochEvent>(&event)) {
    if (length_.epochs > kManyEpochs && !is_due(kBetweenManyEpochs)) {
      held_back_ = *epoch;
    } else {
      print(event);
    }
  } else if (std::holds_alternative<EvaluationEvent>(event)) {
    if (held_back_) print(Event(*held_back_));
    print(event);
  }
}

ProgressLine::ProgressLine(std::FILE* out, const RunLength& length, std::function<Clock::time_point()> now)
    : out_(out), length_(length), now_(std::move(now)) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::write(const Event& event) {
  if (const auto* progress = std::get_if<ProgressEvent>(&event)) {
    measure(*progress);
    draw(*progress);
  } else if (const auto* step = std::get_if<StepEvent>(&event)) {
    if (step->seconds >= kLeastMeasuredSeconds) latest_rate_ = step->examples_per_second;
    latest_waiting_ = step->waiting;
  } else {
    clear();
    print_line(out_, event, length_, terminal_width(out_));
  }
}

void ProgressLine::clear() {
  if (!drawn_) return;
  show(out_, "\r\x1b[K");
  drawn_ = false;
}

/// Measures training steps and evaluation batches separately.
void ProgressLine::measure(const ProgressEvent& progress) {
  const auto now = now_();
  if (last_time_) {
    const double seconds = std::chrono::duration<double>(now - *last_time_).count();
    if (progress.split.empty()) {
      training_seconds_ += seconds;
      steps_ += progress.step - last_step_;
    } else {
      evaluation_seconds_ += seconds;
      batches_ += progress.batch > last_batch_ ? progress.batch - last_batch_ : progress.batch;
    }
  }
  last_time_ = now;
  last_step_ = progress.step;
  last_batch_ = progress.batch;
}

std::optional<double> ProgressLine::seconds_left(const ProgressEvent& progress) const {
  const bool alone = !progress.split.empty() && progress.epoch == 0;  // an evaluation without a training
  if (alone && progress.batches <= 0) return std::nullopt;
  if ((length_.steps <= 0 && !alone) || (steps_ == 0 && batches_ == 0)) return std::nullopt;
  const bool tests = progress.split == "test";
  const std::int64_t steps = positive(length_.steps - progress.step);
  if (steps > 0 && steps_ == 0) return std::nullopt;
  std::int64_t batches = progress.batches - progress.batch + (tests ? 0 : length_.test_batches);
  if (length_.steps_per_epoch > 0) {
    batches += (length_.steps / length_.steps_per_epoch - progress.step / length_.steps_per_epoch) *
               length_.validation_batches;
  }
  const double step_seconds = steps_ > 0 ? training_seconds_ / static_cast<double>(steps_) : 0;
  // Until one is measured: only a forward pass, about a third of a step.
  const double batch_seconds = batches_ > 0 ? evaluation_seconds_ / static_cast<double>(batches_) : step_seconds / 3;
  return static_cast<double>(steps) * step_seconds + static_cast<double>(batches) * batch_seconds;
}

void ProgressLine::draw(const ProgressEvent& progress) {
  const auto now = now_();
  if (now < next_draw_) return;
  next_draw_ = now + std::chrono::milliseconds(100);

  Parts parts;
  if (progress.split.empty()) {
    put_where(parts, progress.epoch, progress.step, length_);
  } else {
    if (progress.split != "test" && progress.epoch > 0)
      parts.push_back({counted("epoch", progress.epoch, length_.epochs), kWhere});
    parts.push_back({counted(progress.split, progress.batch, progress.batches), kWhere});
  }
  if (progress.scores != nullptr) put(parts, "", *progress.scores);
  if (progress.state != nullptr) put(parts, *progress.state);
  const double rate = progress.examples_per_second > 0 ? progress.examples_per_second : latest_rate_;
  if (rate > 0 && progress.split.empty()) parts.push_back({rate_text(rate), kRate});
  if (progress.split.empty()) put_waiting(parts, latest_waiting_);
  if (const auto left = seconds_left(progress)) parts.push_back({duration_text(*left) + " left", kTimeLeft});
  // Leaves the last column free: a full line would wrap, and a wrapped line cannot be redrawn.
  show(out_, fmt::format("\r{}\x1b[K", joined(fitting(std::move(parts), terminal_width(out_) - 1))));
  drawn_ = true;
}

bool is_terminal(std::FILE* out) {
  const char* const kind = std::getenv("TERM");
  return ::isatty(::fileno(out)) != 0 && kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
}

std::size_t terminal_width(std::FILE* out) {
  if (const char* const columns = std::getenv("COLUMNS")) {
    const std::string_view text(columns);
    std::size_t width = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), width);
    if (error == std::errc() && end == text.data() + text.size() && width > 0) return width;
  }
  winsize size{};
  return ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::size_t fitting_width(std::FILE* out) { return is_terminal(out) ? terminal_width(out) : 0; }

void print_fitted(std::FILE* out, const std::string& text) {
  const std::size_t width = fitting_width(out);
  const std::string harmless = with_escaped_controls(text);
  fmt::print(out, "{}", width > 0 ? fitted(harmless, width) : harmless);
}

void print_narrowed(std::FILE* out, const std::string& text) {
  const std::size_t width = fitting_width(out);
  print_fitted(out, width > 0 ? narrowed(with_escaped_controls(text), width) : text);
}

std::unique_ptr<Writer> make_console_writer(std::FILE* out, const RunLength& length, bool quiet) {
  if (quiet) return std::make_unique<NoLines>();
  if (is_terminal(out)) return std::make_unique<ProgressLine>(out, length);
  return std::make_unique<PlainLines>(out, length);
}

}  // namespace mirrortrain::report
