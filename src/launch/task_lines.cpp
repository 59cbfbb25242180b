#include "launch/task_lines.h"

#include <errno.h>
#include <fmt/format.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace mirrortrain::launch {
namespace {

constexpr std::size_t kLastLines = 10, kLastLineBytes = 1000;

std::string prefix(const std::string& name, int number, bool colour) {
  if (!colour) return fmt::format("[{}] ", name);
  constexpr std::array kColours = {36, 33, 32, 35, 34, 96, 93, 92, 95, 94};  // SGR: cyan, yellow, green, ...
  return fmt::format("\x1b[{}m[{}]\x1b[0m ", kColours[static_cast<std::size_t>(number) % kColours.size()], name);
}

}  // namespace

void LineOutput::line(std::string_view prefix, std::string_view text) {
  if (is_lost_) return;
  text_.append(prefix).append(text).push_back('\n');
}

void LineOutput::write_some() {
  // A writable pipe has space for this much, and a terminal accepts as much as it can.
  const std::size_t bytes = std::min<std::size_t>(PIPE_BUF, text_.size() - written_);
  const ssize_t written = ::write(descriptor_, text_.data() + written_, bytes);
  if (written < 0) {
    if (errno == EINTR || errno == EAGAIN) return;  // the latter if another process made the terminal nonblocking
    error_ = ::strerror(errno);
    is_lost_ = true;
    text_.clear();
    written_ = 0;
    return;
  }
  written_ += static_cast<std::size_t>(written);
  if (written_ == text_.size() || written_ > kEnough) {
    text_.erase(0, written_);
    written_ = 0;
  }
}

std::string LineOutput::take_error() { return std::exchange(error_, ""); }

TaskLines::TaskLines(const std::string& name, int number, const Outputs& outputs)
    : out_{outputs.out, prefix(name, number, outputs.colour_out), ""},
      err_{outputs.err, prefix(name, number, outputs.colour_err), ""} {}

void TaskLines::take(Stream& stream, std::string_view bytes) {
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    if (stream.partial.empty()) {
      write(stream, bytes.substr(0, end));
    } else {
      stream.partial += bytes.substr(0, end);
      write(stream, stream.partial);
      stream.partial.clear();
    }
    bytes.remove_prefix(end + 1);
  }
  stream.partial += bytes;
}

void TaskLines::write(Stream& stream, std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);  // ssh ends its own lines for a terminal
  stream.output.line(stream.prefix, line);
  last_.emplace_back(line.substr(0, kLastLineBytes));
  if (last_.size() > kLastLines) last_.pop_front();
}

void TaskLines::finish() {
  for (Stream* stream : {&out_, &err_}) {
    if (!stream->partial.empty()) write(*stream, stream->partial);
    stream->partial.clear();
  }
}

}  // namespace mirrortrain::launch
