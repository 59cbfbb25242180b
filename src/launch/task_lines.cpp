#include "launch/task_lines.h"

#include <fmt/format.h>

#include <array>

namespace mirrortrain::launch {
namespace {

constexpr std::size_t kLastLines = 10, kLastLineBytes = 1000;

std::string prefix(const std::string& name, int number, bool colour) {
  if (!colour) return fmt::format("[{}] ", name);
  constexpr std::array kColours = {36, 33, 32, 35, 34, 96, 93, 92, 95, 94};  // SGR: cyan, yellow, green, ...
  return fmt::format("\x1b[{}m[{}]\x1b[0m ", kColours[static_cast<std::size_t>(number) % kColours.size()], name);
}

}  // namespace

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
