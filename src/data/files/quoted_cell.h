#pragma once

#include <string>
#include <string_view>

namespace mirrortrain::data {

/// Appends a text as a cell of CSV in quotes, of which those within are doubled. In a header, as the module of Parquet
/// has it too.
inline void append_quoted_cell(std::string_view text, std::string& to) {
  to += '"';
  for (std::size_t quote = text.find('"'); quote != text.npos; quote = text.find('"')) {
    to.append(text.substr(0, quote + 1)) += '"';
    text.remove_prefix(quote + 1);
  }
  to.append(text) += '"';
}

}  // namespace mirrortrain::data
