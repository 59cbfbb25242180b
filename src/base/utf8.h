#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mirrortrain {

struct Utf8Character {
  char32_t code = 0;
  std::size_t bytes = 0;  ///< 0 where the text does not begin with a character
};

/// The character that begins a text. Overlong forms, surrogates and values beyond U+10FFFF are not characters.
Utf8Character first_character(std::string_view text);

/// Whether a text is valid UTF-8.
bool is_utf8(std::string_view text);

/// Why a text cannot be part of a configuration: "is not UTF-8" or "has a control character", which tabs and line
/// breaks are not; "" if it can.
std::string_view why_not_text(std::string_view text);

/// Whether it is a control character of ASCII or Latin-1; tabs and line breaks included.
bool is_control(char32_t character);

/// Whether the character is displayed: not a control character, a space, or one that only changes its neighbours'
/// direction or line breaking. Characters that shape letters (the zero width joiners) count as visible.
bool is_visible(char32_t character);

/// Columns of a terminal: two for wide East Asian characters and emoji, none for combining marks.
std::size_t display_width(std::string_view text);

/// The text, padded with spaces to `width` columns.
std::string padded(std::string_view text, std::size_t width);

/// The text without the byte order mark that some editors begin UTF-8 with.
std::string_view without_byte_order_mark(std::string_view text);

/// The text without leading and trailing spaces.
std::string_view without_outer_spaces(std::string_view text);

/// The text with the letters A to Z, and only these, in lower case.
std::string in_lower_case(std::string_view text);

/// The text for a terminal: controls but line breaks and tabs as escapes, so that a file's name moves no cursor.
std::string with_escaped_controls(std::string_view text);

/// The text on one line for a message: cut off with "..." after about `limit` bytes, with controls, invisible
/// characters and invalid UTF-8 bytes as escapes.
std::string shortened(std::string_view text, std::size_t limit = 48);

}  // namespace mirrortrain
