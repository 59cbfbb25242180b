#include "report/console.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/utf8.h"
#include "report/format.h"

namespace mirrortrain::report {
namespace {

using Parts = std::vector<std::string>;

std::string number_text(const StateReading::Number& number) {
  if (const auto* integer = std::get_if<std::int64_t>(&number)) return std::to_string(*integer);
  return fmt::format("{}", static_cast<float>(std::get<double>(number)));  // that is all a copy holds
}

std::string counted(std::string_view what, std::int64_t number, std::int64_t of) {
  return of > 0 ? fmt::format("{} {}/{}", what, number, of) : fmt::format("{} {}", what, number);
}

void put(Parts& parts, std::string_view prefix, const Scores& scores) {
  parts.push_back(fmt::format("{}loss {}", prefix, score_text(scores.loss)));
  for (const auto& [name, value] : scores.metrics)
    parts.push_back(fmt::format("{}{} {}", prefix, name, score_text(value)));
}

/// "counter 6", and the copies beside it where they differ from the value.
void put(Parts& parts, const std::vector<StateReading>& state) {
  for (const StateReading& reading : state) {
    const auto differs = [&](const StateReading::Number& copy) { return !reading.value || copy != *reading.value; };
    std::string text = reading.name + " " + (reading.value ? number_text(*reading.value) : "-");
    if (std::any_of(reading.replicas.begin(), reading.replicas.end(), differs)) {
      std::string copies;
      for (const auto& copy : reading.replicas) copies += (copies.empty() ? "" : ", ") + number_text(copy);
      text += " [" + copies + "]";
    }
    parts.push_back(std::move(text));
  }
}

/// The longest that a lane waited; nothing worth telling where there is one lane.
void put_waiting(Parts& parts, const std::vector<double>& waiting) {
  if (waiting.size() < 2) return;
  parts.push_back(fmt::format("waiting {:.1f}%", 100 * *std::max_element(waiting.begin(), waiting.end())));
}

std::string rate_text(double examples_per_second) {
  return fmt::format("{} examples/s", with_thousands(static_cast<std::int64_t>(examples_per_second)));
}

/// The parts side by side, as many as fit; 0: all.
std::string joined(const Parts& parts, std::size_t width = 0) {
  std::string line;
  std::size_t filled = 0;
  for (const std::string& part : parts) {
    filled += 2 + display_width(part);
    if (width > 0 && filled > width) break;
    if (!line.empty()) line += "  ";
    line += part;
  }
  return line;
}

Parts parts_of(const ProgressEvent&, const RunLength&) { return {}; }
Parts parts_of(const EndEvent&, const RunLength&) { return {}; }

Parts parts_of(const StepEvent& event, const RunLength& length) {
  Parts parts = {counted("epoch", event.epoch, length.epochs), counted("step", event.step, length.steps)};
  if (event.scores) put(parts, "", *event.scores);
  put(parts, event.state);
  parts.push_back(rate_text(event.examples_per_second));
  put_waiting(parts, event.waiting);
  return parts;
}

Parts parts_of(const EpochEvent& event, const RunLength& length) {
  Parts parts = {counted("epoch", event.epoch, length.epochs), "done"};
  if (event.scores) put(parts, "", *event.scores);
  if (event.validation) put(parts, "validation ", *event.validation);
  put(parts, event.state);
  parts.push_back(duration_text(event.seconds));
  return parts;
}

Parts parts_of(const EvaluationEvent& event, const RunLength&) {
  Parts parts = {event.split};
  put(parts, "", event.scores);
  parts.push_back(fmt::format("{} examples", with_thousands(event.examples)));
  return parts;
}

/// Where nobody can see it, on a full device or a pipe that was closed, training does not end for it.
void show(std::FILE* out, const std::string& text) {
  std::fputs(text.c_str(), out);
  std::fflush(out);
}

void print_line(std::FILE* out, const Event& event, const RunLength& length) {
  const Parts parts = std::visit([&](const auto& held) { return parts_of(held, length); }, event);
  if (parts.empty()) return;
  show(out, joined(parts) + "\n");
}

std::size_t width_of(std::FILE* out) {
  winsize size{};
  return ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

void PlainLines::write(const Event& event) { print_line(out_, event, length_); }

ProgressLine::ProgressLine(std::FILE* out, const RunLength& length, std::function<Clock::time_point()> now)
    : out_(out), length_(length), now_(std::move(now)) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::write(const Event& event) {
  if (const auto* progress = std::get_if<ProgressEvent>(&event)) {
    draw(*progress);
  } else if (const auto* step = std::get_if<StepEvent>(&event)) {
    latest_ = step->scores;
    latest_rate_ = step->examples_per_second;
    latest_waiting_ = step->waiting;
  } else {
    clear();
    print_line(out_, event, length_);
  }
}

void ProgressLine::clear() {
  if (!drawn_) return;
  show(out_, "\r\x1b[K");
  drawn_ = false;
}

void ProgressLine::draw(const ProgressEvent& progress) {
  const auto now = now_();
  if (first_step_ < 0) {
    first_step_ = progress.step;
    first_time_ = now;
  }
  if (now < next_draw_) return;
  next_draw_ = now + std::chrono::milliseconds(100);

  Parts parts = {counted("epoch", progress.epoch, length_.epochs), counted("step", progress.step, length_.steps)};
  if (progress.scores != nullptr) {
    put(parts, "", *progress.scores);
  } else if (latest_) {
    put(parts, "", *latest_);
  }
  if (progress.state != nullptr) put(parts, *progress.state);
  const double rate = progress.examples_per_second > 0 ? progress.examples_per_second : latest_rate_;
  if (rate > 0) parts.push_back(rate_text(rate));
  put_waiting(parts, latest_waiting_);
  if (length_.steps > 0 && progress.step > first_step_) {
    const double elapsed = std::chrono::duration<double>(now - first_time_).count();
    const double share =
        static_cast<double>(length_.steps - progress.step) / static_cast<double>(progress.step - first_step_);
    parts.push_back(duration_text(elapsed * share) + " left");
  }
  // The last column stays free: a full line would wrap, and a wrapped one cannot be drawn over.
  show(out_, fmt::format("\r{}\x1b[K", joined(parts, width_of(out_) - 1)));
  drawn_ = true;
}

bool is_terminal(std::FILE* out) { return ::isatty(::fileno(out)) != 0; }

std::unique_ptr<Writer> make_console_writer(std::FILE* out, const RunLength& length) {
  if (is_terminal(out)) return std::make_unique<ProgressLine>(out, length);
  return std::make_unique<PlainLines>(out, length);
}

}  // namespace mirrortrain::report
