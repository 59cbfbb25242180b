#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mirrortrain {

struct Utf8Character {
  char32_t code = 0;
  std::size_t bytes = 0;  ///< 0 where the text does not begin with a character
};

/// The character that begins a text. Overlong forms, surrogates and what lies beyond U+10FFFF are none.
Utf8Character first_character(std::string_view text);

/// Whether a text is nothing but characters.
bool is_utf8(std::string_view text);

/// Of ASCII and Latin-1; tabs and line breaks included.
bool is_control(char32_t character);

/// Whether the character leaves a mark of its own: no control, no space, none that only changes its neighbours'
/// direction or joins lines. Those that shape letters (the zero width joiners) count as visible.
bool is_visible(char32_t character);

/// Columns of a terminal: two for wide East Asian characters and emoji, none for combining marks.
std::size_t display_width(std::string_view text);

/// The text and as many spaces as fill `width` columns.
std::string padded(std::string_view text, std::size_t width);

/// The text without the byte order mark that some editors begin UTF-8 with.
std::string_view without_byte_order_mark(std::string_view text);

/// The text without spaces before and behind it.
std::string_view without_outer_spaces(std::string_view text);

/// The text with the letters A to Z in lower case, and no others.
std::string in_lower_case(std::string_view text);

/// The text on one line for a message: cut off with "..." after about `limit` bytes, with controls, invisible
/// characters and bytes that are no UTF-8 as escapes.
std::string shortened(std::string_view text, std::size_t limit = 48);

}  // namespace mirrortrain
