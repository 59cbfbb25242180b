#pragma once

#include <algorithm>
#include <string_view>

namespace mirrortrain {

/// What is between words and at the ends of lines.
inline constexpr std::string_view kBlanks = " \t\r\n";

/// The text without leading and trailing spaces, tabs and ends of lines.
inline std::string_view without_outer_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

}  // namespace mirrortrain
