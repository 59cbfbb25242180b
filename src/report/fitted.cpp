#include "report/fitted.h"

#include <algorithm>

#include "base/utf8.h"

namespace mirrortrain::report {
namespace {

/// The position at which to break a line that is too long: before the last gap of several spaces within `width`
/// columns, else before the last space; npos if there is none after `indent`.
std::size_t break_of(std::string_view line, std::size_t indent, std::size_t width) {
  std::size_t gap = std::string_view::npos, space = std::string_view::npos;
  for (std::size_t i = indent; i < line.size() && display_width(line.substr(0, i)) <= width; ++i) {
    if (line[i] != ' ' || line[i - 1] == ' ') continue;
    space = i;
    if (line.substr(i, 2) == "  ") gap = i;
  }
  return gap != std::string_view::npos ? gap : space;
}

std::string fitted_line(std::string_view line, std::size_t width) {
  std::string text;
  std::string start;  // of continuation lines
  while (display_width(line) + start.size() > width) {
    const std::size_t own = std::min(line.find_first_not_of(start.empty() ? " #" : " "), line.size());
    const std::size_t end = break_of(line, own + 1, width - std::min(width, start.size()));
    if (end == std::string_view::npos) break;
    if (start.empty()) {
      const bool is_comment = line.substr(0, own).find('#') != std::string_view::npos;
      start = std::string(std::min(own + 4, width / 2 + 1), ' ');
      if (is_comment) start[0] = '#';
      text += line.substr(0, end);
    } else {
      text += start + std::string(line.substr(0, end));
    }
    text += '\n';
    line.remove_prefix(std::min(line.find_first_not_of(' ', end), line.size()));
  }
  return text + start + std::string(line);
}

}  // namespace

std::string fitted(std::string_view text, std::size_t width) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    result += fitted_line(text.substr(0, end), width);
    if (end < text.size()) result += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::string cut_off(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  const std::string_view dots = std::string_view("...").substr(0, width);
  std::string kept;
  while (true) {
    const std::size_t bytes = std::max<std::size_t>(first_character(text).bytes, 1);
    if (display_width(kept + std::string(text.substr(0, bytes))) + dots.size() > width) break;
    kept += text.substr(0, bytes);
    text.remove_prefix(bytes);
  }
  return kept + std::string(dots);
}

}  // namespace mirrortrain::report
