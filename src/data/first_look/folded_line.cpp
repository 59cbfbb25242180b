#include "data/first_look/folded_line.h"

#include <vector>

#include "base/utf8.h"

namespace mirrortrain::data {

namespace {

/// The columns of the line's first bytes, by their number: those of a character count with its first byte.
std::vector<std::size_t> columns_before(std::string_view line) {
  std::vector<std::size_t> columns(line.size() + 1, 0);
  for (std::size_t i = 0; i < line.size();) {
    std::size_t end = i + 1;
    while (end < line.size() && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) ++end;
    const std::size_t width = display_width(line.substr(i, end - i));
    for (std::size_t next = i + 1; next <= end; ++next) columns[next] = columns[i] + width;
    i = end;
  }
  return columns;
}

}  // namespace

std::string folded(std::string_view line, std::size_t indent) {
  const std::vector<std::size_t> before = columns_before(line);
  std::string text;
  std::size_t start = 0, last = 0;  // of the line; of a possible line break
  char quote = '\0';
  const auto break_line = [&] {
    text += std::string(line.substr(start, last - start)) + "\n" + std::string(indent, ' ');
    start = last + 1;  // after the space
    last = start;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::size_t columns = before[i + 1] - before[start] + (start > 0 ? indent : 0);
    if (columns > kLineColumns && last > start) break_line();
    if (line[i] == '"' || line[i] == '\'') {
      quote = quote == line[i] ? '\0' : quote == '\0' ? line[i] : quote;
    } else if (line[i] == '\\' && quote == '"') {
      ++i;
    } else if (quote == '\0' && line.substr(i, 2) == ", ") {
      last = i + 1;
    }
  }
  return text + std::string(line.substr(start)) + "\n";
}

}  // namespace mirrortrain::data
