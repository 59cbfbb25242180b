#pragma once

#include <string>
#include <string_view>

namespace mirrortrain {

/// Appends a text as a cell of CSV in quotes, of which those within are doubled, as RFC 4180 has it.
inline void append_quoted_cell(std::string_view text, std::string& to) {
  to += '"';
  for (std::size_t quote = text.find('"'); quote != text.npos; quote = text.find('"')) {
    to.append(text.substr(0, quote + 1)) += '"';
    text.remove_prefix(quote + 1);
  }
  to.append(text) += '"';
}

/// A text as a cell of CSV, quoted if necessary.
inline std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string quoted;
  append_quoted_cell(text, quoted);
  return quoted;
}

}  // namespace mirrortrain
