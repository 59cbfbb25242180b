#include "data/first_look/folded_line.h"

#include "base/utf8.h"

namespace mirrortrain::data {

std::string folded(std::string_view line, std::size_t indent) {
  std::string text;
  std::size_t start = 0, last = 0;  // of the line; of a possible line break
  char quote = '\0';
  const auto break_line = [&] {
    text += std::string(line.substr(start, last - start)) + "\n" + std::string(indent, ' ');
    start = last + 1;  // after the space
    last = start;
  };
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::size_t columns = display_width(line.substr(start, i + 1 - start)) + (start > 0 ? indent : 0);
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
